package server

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// targetVerbs are command lines of all verbs that look at a target.
var targetVerbs = [][]string{
	{"report"}, {"report", "--native"}, {"diagnose"}, {"threads"}, {"regions"}, {"tasks"}, {"tasks", "--all"},
	{"icvs"}, {"stacks"}, {"stacks", "--native"}, {"layout"}, {"layout", "--source", "memory"}, {"doctor"},
	{"breakpoints"}, {"breakpoints", "--sites"},
}

// TestServerPrintsSameBytes runs every verb locally and at a server: the output is the same.
func TestServerPrintsSameBytes(t *testing.T) {
	address := e2e.Serve(t)
	for _, s := range []struct {
		program string
		major   int
	}{{"nested", 16}, {"lock_cycle", 19}, {"tasks_deps", 14}, {"crash_task", 15}, {"pthreads", 16}} {
		t.Run(s.program, func(t *testing.T) {
			r := omptest.Dump(t, omptest.Run{
				Exe: omptest.Compile(t, omptest.Build{Program: s.program}), Runtime: omptest.RuntimeOf(t, s.major),
				Mode: omptest.Kernel,
			})
			t.Chdir(filepath.Dir(r.Core))
			for _, verb := range targetVerbs {
				for _, format := range [][]string{nil, {"--json"}, {"--color", "always"}} {
					for _, name := range []string{r.Core, filepath.Base(r.Core)} {
						line := slices.Concat(verb, format, []string{name})
						status, want, _ := e2e.Output(t, line...)
						gotStatus, got, errs := e2e.Output(t, append([]string{"--server", address}, line...)...)
						if got != want || gotStatus != status {
							t.Errorf("%v: at a server, exit status %d, not %d: %s\n%s", line, gotStatus, status, errs,
								firstDifference(got, want))
						}
						if len(want) < 100 && verb[0] != "diagnose" {
							t.Errorf("%v prints only %q", line, want)
						}
					}
				}
			}
		})
	}
}

// firstDifference shows the first difference between two texts.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + g[i] + "\nnot  " + w[i]
		}
	}
	return "one is the beginning of the other"
}

// TestServedProcess looks at a process at a server.
func TestServedProcess(t *testing.T) {
	address := e2e.Serve(t)
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Live,
	})
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tg, err := c.OpenProcess(t.Context(), p.PID)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for pic, err := range tg.Watch(t.Context(), time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		if pic.Target.Kind != "process" || pic.Target.Pause == nil || len(pic.Threads) != len(p.Truth.Threads) ||
			len(pic.Regions) < 3 {
			t.Errorf("look %d: %+v with %d threads and %d regions", looks, pic.Target, len(pic.Threads),
				len(pic.Regions))
		}
		if looks++; looks == 3 {
			break
		}
	}
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
	n := 0
	for _, err := range tg.Tasks(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < len(p.Truth.Threads) {
		t.Errorf("%d tasks", n)
	}
}

// TestServerErrors requires that the verbs print a server's errors like their own.
func TestServerErrors(t *testing.T) {
	address := e2e.Serve(t, "--allow-dir", "/nowhere")
	for _, tt := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{"--server", "unix:///no/such/socket", "threads", "core"}, "no/such/socket", cli.ExitError},
		{[]string{"--server", "socket", "threads", "core"}, "unix:///path or tcp://host:port", cli.ExitError},
		{[]string{"--server", address, "threads", "/etc/passwd"}, "--allow-dir", cli.ExitError},
		{[]string{"--server", address, "threads", "1073741824"}, "there is no process", cli.ExitError},
		{[]string{"serve", "--listen", "tcp://127.0.0.1:0"}, "--token-file", cli.ExitUsage},
		{[]string{"serve", "--listen", "tcp://0.0.0.0:0", "--tls-cert", "x"}, "go together", cli.ExitUsage},
		{[]string{"serve", "--token-file", "/etc/passwd"}, "chmod 600", cli.ExitError},
		{[]string{"completion", "frob"}, "unknown command \"frob\"", cli.ExitUsage},
		{[]string{"completion"}, "bash, fish, powershell, zsh", cli.ExitUsage},
	} {
		status, out, errs := e2e.Output(t, tt.args...)
		if status != tt.status || out != "" || !strings.Contains(errs, tt.want) || strings.Contains(errs, "rpc error") {
			t.Errorf("%v: exit status %d, want %d: %s%s", tt.args, status, tt.status, out, errs)
		}
	}
}

// TestServedProfile profiles a process at a server. A core at the server is refused.
func TestServedProfile(t *testing.T) {
	address := e2e.Serve(t)
	run := omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
	}
	pid := strconv.Itoa(omptest.Start(t, run).PID)
	status, out, errs := e2e.Output(t, "--server", address, "profile", "--quiet", "--samples", "2", "--json", pid)
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	omptest.Validate(t, "profile", []byte(out))
	p := new(picture.Profile)
	if err := json.Unmarshal([]byte(out), p); err != nil {
		t.Fatal(err)
	}
	if len(p.Waits) == 0 || p.Waits[0].Name != "lock" || p.Samples != 2 || p.End != picture.ProfileTimeOver {
		t.Errorf("%d samples, waits %+v, ended as %s", p.Samples, p.Waits, p.End)
	}
	checkProfileEnd(t, address, pid)
	run.Mode = omptest.Kernel
	core := omptest.Dump(t, run).Core
	status, _, errs = e2e.Output(t, "--server", address, "profile", core)
	if status != cli.ExitUsage || !strings.Contains(errs, "it does not run") {
		t.Errorf("a core: exit status %d, %s", status, errs)
	}
}

// checkProfileEnd ends a profile of a process at a server. Meanwhile the server answers other calls for the target.
func checkProfileEnd(t *testing.T, address, pid string) {
	t.Helper()
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.OpenProcess(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	started, end := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(end)
		<-started
		if pic, err := target.Picture(t.Context()); err != nil || len(pic.Threads) == 0 {
			t.Errorf("a report during the samples: %v", err)
		}
	}()
	p, err := target.Profile(t.Context(), client.ProfileOptions{Started: func() { close(started) }, End: end})
	if err != nil || p.End != picture.ProfileInterrupted || p.Samples == 0 || len(p.Stacks) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
