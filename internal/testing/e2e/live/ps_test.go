package live

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// listed returns the list that ps prints.
func listed(t *testing.T, flags ...string) *picture.Processes {
	t.Helper()
	status, out, errs := e2e.Output(t, append([]string{"ps", "--json"}, flags...)...)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	omptest.Validate(t, "ps", []byte(out))
	var list picture.Processes
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	return &list
}

// TestPsListsRuntimes lists processes on all runtimes, including one with GNU's runtime linked in, but not a
// process without a runtime.
func TestPsListsRuntimes(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "spinning"})
	started := map[int]picture.ProcessCode{}
	for _, rt := range omptest.Runtimes(t) {
		p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live})
		started[p.PID] = picture.ProcessCode{Family: "libomp", Name: "LLVM OpenMP runtime",
			Version: strconv.Itoa(rt.Major), Path: rt.Lib}
	}
	const inferred = "texts of its own, as the executable is stripped"
	for from, flags := range map[string][]string{"": {"-static"}, inferred: {"-static", "-s"}, inferred +
		".": {"-static-pie", "-s"}} {
		p := staticProgram(t, staticText, append(flags, "-fopenmp")...)
		started[p.Process.Pid] = picture.ProcessCode{
			Family: "libgomp", Name: "GNU OpenMP runtime", Path: p.Path, Static: true,
			InferredFrom: strings.TrimSuffix(from, "."),
		}
	}
	// A text of the runtime in a program does not mean that the runtime is present.
	plain := staticProgram(t, `#include <unistd.h>`+"\nint main(int n, char **v) { return write(n, \"\\nlibgomp: \", "+
		"10) - pause(); }\n", "-static", "-s")
	list := listed(t)
	found := 0
	for _, p := range list.Processes {
		if p.PID == plain.Process.Pid || p.PID == os.Getpid() {
			t.Errorf("listed: %+v", p)
		}
		want, ok := started[p.PID]
		if !ok {
			continue // of another test
		}
		found++
		checkProcess(t, p, want, exe)
	}
	if found != len(started) {
		t.Errorf("%d of %d found", found, len(started))
	}
	// They spin. Where other processes want processors too, a spinning one soon gets one.
	spins := func(p picture.Process) bool { c, ok := started[p.PID]; return ok && !c.Static && p.CPU > 0 }
	for !slices.ContainsFunc(list.Processes, spins) {
		list = listed(t)
	}
	address := e2e.Serve(t)
	for pid := range started {
		for _, args := range [][]string{{"ps", "--sample", "0"}, {}, {"--server", address, "ps"},
			{"--server", address}} {
			status, out, errs := e2e.Output(t, args...)
			if status != cli.ExitOK || !strings.Contains(out, strconv.Itoa(pid)) ||
				!strings.Contains(out, "next: ompd-inspect ") {
				t.Errorf("%v: exit status %d\n%s%s", args, status, out, errs)
			}
		}
		break
	}
	if status, _, errs := e2e.Output(t, "ps", "--sample", "-1s"); status != cli.ExitUsage ||
		!strings.Contains(errs, "--sample") {
		t.Errorf("exit status %d: %s", status, errs)
	}
}

// checkProcess compares one line of the list with the started program: exe, or a static one.
func checkProcess(t *testing.T, p picture.Process, want picture.ProcessCode, exe string) {
	t.Helper()
	if len(p.Runtimes) != 1 {
		t.Errorf("%+v", p)
		return
	}
	got := p.Runtimes[0]
	if want.Static {
		got.Version = "" // depends on the compiler of this machine
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if want.Static {
		if p.Threads != 1 {
			t.Errorf("%+v", p)
		}
	} else if p.Threads != 3 || p.User != "root" && os.Getuid() == 0 || p.Executable != exe ||
		!slices.Equal(p.Command, []string{exe, "wait"}) {
		t.Errorf("%+v", p)
	}
}

// staticText is a program with a region of one thread.
const staticText = "#include <omp.h>\n#include <unistd.h>\nint main(void) {\n#pragma omp parallel num_threads(1)\n  " +
	"pause();\n  return omp_get_ancestor_thread_num(0);\n}\n"

// staticProgram starts a program that has its runtime linked in, as GCC can do.
func staticProgram(t *testing.T, text string, flags ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "linked.c"), filepath.Join(dir, "linked")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", append(flags, "-o", exe, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: apt-get install gcc\n%s", err, out)
	}
	cmd := exec.Command(exe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestPsAtServer lists the processes of a server's machine: the same as here, or none
// if their users' processes may not be opened.
func TestPsAtServer(t *testing.T) {
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Live,
	})
	own := func(list *picture.Processes) *picture.Process {
		for i := range list.Processes {
			if list.Processes[i].PID == p.PID {
				list.Processes[i].CPU = 0 // changes at each moment
				return &list.Processes[i]
			}
		}
		return nil
	}
	here, there := own(listed(t)), own(listed(t, "--server", e2e.Serve(t)))
	if here == nil || there == nil || !reflect.DeepEqual(here, there) {
		t.Errorf("here %+v, at the server %+v", here, there)
	}
	address := e2e.Serve(t, "--allow-uid", strconv.Itoa(os.Getuid()))
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if list, err := c.Processes(t.Context(), 0); err != nil || own(list) == nil ||
		list.Schema != picture.ProcessSchema {
		t.Errorf("%v, %v", list, err)
	}
}
