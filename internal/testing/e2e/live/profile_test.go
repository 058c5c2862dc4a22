package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// readProfile checks a profile against its schema, and that its parts have the same sum.
func readProfile(t *testing.T, text []byte) *picture.Profile {
	t.Helper()
	omptest.Validate(t, "profile", text)
	p := new(picture.Profile)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	places, stacks := 0., 0.
	for _, at := range p.Places {
		places += at.Work + at.Wait + at.Unknown
	}
	for _, s := range p.Stacks {
		if !s.Outside {
			stacks += s.Seconds
		}
	}
	for what, sum := range map[string]float64{
		"classes": p.Work + p.Wait + p.Unknown, "places": places, "stacks": stacks,
	} {
		if math.Abs(sum-p.ThreadSeconds) > 1e-6*p.ThreadSeconds {
			t.Errorf("%s: %v s of %v", what, sum, p.ThreadSeconds)
		}
	}
	if p.Samples == 0 || p.ThreadSeconds == 0 || len(p.Findings) == 0 {
		t.Errorf("%d samples, %v s, findings %v", p.Samples, p.ThreadSeconds, p.Findings)
	}
	return p
}

// profileOf profiles a process.
func profileOf(t *testing.T, pid int, flags ...string) *picture.Profile {
	t.Helper()
	status, out, errs := e2e.Output(t, append([]string{"profile", "--quiet", "--json", strconv.Itoa(pid)}, flags...)...)
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	return readProfile(t, []byte(out))
}

// TestProfileKinds profiles programs whose threads stay in known waits. The kind of the wait, its place and the threads
// that are at work are those of the program.
func TestProfileKinds(t *testing.T) {
	for name, c := range map[string]struct {
		b  omptest.Build
		rt omptest.Runtime
	}{
		"libomp":  {omptest.Build{}, omptest.RuntimeOf(t, 16)},
		"libgomp": {omptest.Build{Compiler: omptest.GCC}, omptest.Libgomp(t)},
	} {
		t.Run(name, func(t *testing.T) { profileKinds(t, c.b, c.rt) })
	}
}

func profileKinds(t *testing.T, b omptest.Build, rt omptest.Runtime) {
	for _, c := range []struct {
		program, kind, name string
		waiting             float64 // share of the threads that wait for it
	}{
		{"lock", "lock", "lock", 2. / 3},
		{"critical", "critical", "", 0},
		{"barrier", "barrier", "", 0},
		{"taskwait", "taskwait", "", 0},
		{"idle", "idle", "", 0},
	} {
		t.Run(c.program, func(t *testing.T) {
			b.Program = c.program
			r := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Live})
			p := profileOf(t, r.PID, "--samples", "2")
			i := slices.IndexFunc(p.Waits, func(w picture.ProfileWait) bool { return w.Kind == c.kind })
			if i < 0 {
				t.Fatalf("waits %+v, want %s", p.Waits, c.kind)
			}
			w := p.Waits[i]
			if c.name != "" && w.Name != c.name {
				t.Errorf("%s %s, want %s", w.Kind, w.Name, c.name)
			}
			if share := w.Seconds / p.ThreadSeconds; c.waiting != 0 && math.Abs(share-c.waiting) > 1e-6 {
				t.Errorf("%v of the time waits for it, want %v", share, c.waiting)
			}
			if c.kind != "idle" && !slices.ContainsFunc(p.Places, func(at picture.ProfilePlace) bool {
				return at.Frame != nil && filepath.Base(at.Frame.File) == c.program+".c" && at.Frame.Line > 0 &&
					slices.ContainsFunc(at.Waits, func(w picture.ProfileWait) bool { return w.Kind == c.kind })
			}) {
				t.Errorf("no place of the program waits for %s: %+v", c.kind, p.Places)
			}
			if c.kind == "barrier" {
				checkLate(t, p)
			}
		})
	}
}

// TestProfileHeapLocks profiles threads that wait for locks on the heap. What the first sample finds of their names
// serves the others: each lock has one name, with all of its samples.
func TestProfileHeapLocks(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{
		Program: "verdict_lock_paths", Compiler: omptest.GCC, Flags: []string{"-O2", "-g"},
	})
	r := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Args: []string{"2"}, Mode: omptest.Live})
	p := profileOf(t, r.PID, "--samples", "4")
	var names []string
	for _, w := range p.Waits {
		if w.Kind != "lock" {
			continue
		}
		names = append(names, w.Name)
		if thread := p.ThreadSeconds / float64(p.Threads); math.Abs(w.Seconds-thread) > 1e-6 {
			t.Errorf("%s: %v s, want those of one thread, %v", w.Name, w.Seconds, thread)
		}
	}
	slices.Sort(names)
	if want := []string{"nodes[1]->lock", "nodes[2]->lock"}; !slices.Equal(names, want) {
		t.Errorf("locks %q, want %q", names, want)
	}
}

// checkLate checks that thread 3 of program barrier, which never comes, is late for all of the time, and the only one.
func checkLate(t *testing.T, p *picture.Profile) {
	t.Helper()
	if len(p.Barriers) != 1 || len(p.Barriers[0].Late) != 1 {
		t.Fatalf("barriers %+v, want one with one late thread", p.Barriers)
	}
	b := p.Barriers[0]
	l := b.Late[0]
	if l.ThreadNum != 3 || math.Abs(l.Seconds-b.Span) > 1e-6 || math.Abs(b.Seconds-3*b.Span) > 1e-6 || l.Frame == nil {
		t.Errorf("%+v is late, others waited %v s, %v s in all", l, b.Span, b.Seconds)
	}
}

// TestProfileEnds checks that a profile ends with Ctrl-C, and with its process, and is printed then.
func TestProfileEnds(t *testing.T) {
	for _, end := range []string{"interrupt", "end of the process"} {
		t.Run(end, func(t *testing.T) {
			run := omptest.Run{
				Exe: omptest.Compile(t, omptest.Build{Program: "lock"}), Runtime: omptest.RuntimeOf(t, 16),
				Mode: omptest.Live,
			}
			r := omptest.Start(t, run)
			tool := e2e.Process("profile", "--json", strconv.Itoa(r.PID))
			var out strings.Builder
			tool.Stdout = &out
			notes, err := tool.StderrPipe()
			if err = errors.Join(err, tool.Start()); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(notes)
			if line, err := lines.ReadString('\n'); !strings.Contains(line, "Ctrl-C ends it") {
				t.Fatalf("%q, %v", line, err)
			}
			want, pid, sig := picture.ProfileInterrupted, tool.Process.Pid, unix.SIGINT
			if end != "interrupt" {
				want, pid, sig = picture.ProfileExited, r.PID, unix.SIGKILL
			}
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(lines)
			if err := tool.Wait(); err != nil || len(rest) > 0 {
				t.Fatalf("%v: %s", err, rest)
			}
			if p := readProfile(t, []byte(out.String())); p.End != want {
				t.Errorf("it ended as %s, want %s", p.End, want)
			}
		})
	}
}

// awaitFile waits until a file is there. Each change of its directory wakes it.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(name), unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if _, err := unix.Read(fd, make([]byte, 4096)); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

// TestProfileProgram checks that a program which the tool starts keeps its output and its exit status, and that its
// profile follows.
func TestProfileProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.json")
	run := omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
	}
	tool := e2e.Process("profile", "--samples", "2", "--json", "-o", file, "--")
	pid := e2e.StartHeld(t, tool, run)
	awaitFile(t, file) // it is written when the samples are taken, while the program runs on
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := tool.Wait(); err == nil || tool.ProcessState.ExitCode() != 128+int(unix.SIGKILL) {
		t.Errorf("exit status %v", tool.ProcessState)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := readProfile(t, text)
	if p.Target.PID != pid || p.Samples != 2 {
		t.Errorf("process %d with %d samples, want %d", p.Target.PID, p.Samples, pid)
	}
}

// TestProfileForms prints a profile in each form, and runs go tool pprof, if it is there, on that for pprof.
func TestProfileForms(t *testing.T) {
	r := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
	})
	for form, want := range map[string]string{
		"text": "lock lock", "folded": ";<OMP-lock_wait> ", "speedscope": `"name":"OpenMP Wait"`,
		"html": "What costs most", "pprof": "\x1f\x8b",
	} {
		file := filepath.Join(t.TempDir(), form)
		status, _, errs := e2e.Output(t, "profile", "--samples", "1", "--format", form, "-o", file, strconv.Itoa(r.PID))
		got, err := os.ReadFile(file)
		if status != cli.ExitOK || err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: exit status %d, %s, no %q in\n%.2000s", form, status, errs, want, got)
		}
		if form != "pprof" {
			continue
		}
		out, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index=wait", file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "<OMP-lock_wait>") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestNoProfile checks the errors: a core, a number without a process, and wrong flags.
func TestNoProfile(t *testing.T) {
	core := filepath.Join(filepath.Dir(omptest.Programs(t)), "golden", "llvm-deadlock", "core.zst")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{core}, cli.ExitUsage, "it does not run"},
		{[]string{"999999999"}, cli.ExitError, "no such process"},
		{[]string{"--for", "-1s", "1"}, cli.ExitUsage, "must not be negative"},
		{[]string{"--format", "dot", "1"}, cli.ExitUsage, "--format dot"},
		{[]string{"--"}, cli.ExitUsage, "which program?"},
		{[]string{"--", "/bin/true"}, cli.ExitOK, "no profile: no process"},
		{[]string{"--", "/no/such/program"}, cli.ExitNotFound, "no such file"},
	} {
		status, _, errs := e2e.Output(t, append([]string{"profile"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit status %d, want %d, %q in %s", c.args, status, c.status, c.want, errs)
		}
	}
	_, _, errs := e2e.Output(t, "report", core, "--format", "pprof")
	if want := fmt.Sprintf("`ompd-inspect profile PID --format %s`", "pprof"); !strings.Contains(errs, want) {
		t.Errorf("report: no %q in %s", want, errs)
	}
}
