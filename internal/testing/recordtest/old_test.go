package recordtest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestOMPT2013 runs a runtime that implements only the draft of 2013: it calls ompt_initialize, and its events
// are recorded as current ones.
func TestOMPT2013(t *testing.T) {
	exe := build(t, "gcc", "runtime2013.c", "-rdynamic")
	p := run(t, omptest.Runtime{Name: "of 2013"}, exe, "LD_PRELOAD="+omptest.Recorder(t))
	r := readRecording(t, p.Process.Pid)
	const idsRegions, waitLock, region, first, second = 3, 0x41, 4711, 0x1000, 0x2000
	g := r.ringOf(t, p.Process.Pid)
	if r.IDs != idsRegions || g.State != waitLock || g.last().Lock() != second {
		t.Errorf("ids are of kind %d, the state is %#x, the last event %s", r.IDs, g.State, short(g.last()))
	}
	if len(g.Held) != 1 || g.Held[0].Lock() != first || len(g.Forked) != 1 || g.Forked[0].Region != region {
		t.Errorf("locks %v; regions %v", g.Held, g.Forked)
	}
	if len(g.Tasks) != 1 || g.Tasks[0].Region != region || g.ID == 0 {
		t.Errorf("tasks %+v; thread %#x", g.Tasks, g.ID)
	}
}

// TestOMPT2013Events requires the events of that runtime, by waits or by constructs, as far as they are selected.
func TestOMPT2013Events(t *testing.T) {
	exe := build(t, "gcc", "runtime2013.c", "-rdynamic")
	all := []trace.Code{3, 7, 20, 20, 21, 21, 16, 16, 23, 23, 26, 27, 26}
	constructs := slices.Delete(slices.Clone(all), 6, 8)
	for _, c := range []struct {
		args   []string
		events string
		want   []trace.Code
	}{
		{nil, "", all},
		{[]string{"constructs"}, "", constructs},
		{nil, "locks", []trace.Code{3, 7, 26, 27, 26}},
		{nil, "none", []trace.Code{3, 7}},
	} {
		p := runArgs(t, omptest.Runtime{Name: "of 2013"}, append([]string{exe}, c.args...),
			"LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER="+c.events)
		r := readRecording(t, p.Process.Pid)
		g := r.ringOf(t, p.Process.Pid)
		if got := codes(g.main); !slices.Equal(got, c.want) {
			t.Errorf("%s, %q: the events are %d, want %d", c.args, c.events, got, c.want)
		}
		if got := codes(g.rare); !slices.Equal(got, []trace.Code{1, 11, 11}) {
			t.Errorf("%s, %q: the rare events are %d", c.args, c.events, got)
		}
	}
}

// TestUnknownOMPT records no events of runtimes with unknown event numbers: one with the interface of the report of
// June 2016, and others that pass or return another version (ompt_version, ompt_get_ompt_version).
func TestUnknownOMPT(t *testing.T) {
	for source, versions := range map[string][]string{
		"runtime2016.c": {"june", "0", "1", "3"}, "runtime2013.c": {"0", "2", "3"},
	} {
		exe := build(t, "gcc", source, "-rdynamic")
		for _, version := range versions {
			p := runArgs(t, omptest.Runtime{Name: "of version " + version}, []string{exe, version},
				"LD_PRELOAD="+omptest.Recorder(t))
			if maps := mappingsOf(t, p.Process.Pid); strings.Contains(maps, "ompd-recorder (deleted)") {
				t.Errorf("%s, %s: it records:\n%s", source, version, maps)
			}
		}
	}
}

// TestOMPT2016 runs a runtime of the time before OpenMP 5.0: it calls ompt_tool, and has ids of its own, which
// the records contain.
func TestOMPT2016(t *testing.T) {
	exe := build(t, "gcc", "runtime2016.c", "-rdynamic")
	p := run(t, omptest.Runtime{Name: "of 2016"}, exe, "LD_PRELOAD="+omptest.Recorder(t))
	r := readRecording(t, p.Process.Pid)
	const idsRuntime, waitLock, region, task, thread = 4, 0x41, 22, 32, 11
	g := r.ringOf(t, p.Process.Pid)
	if r.IDs != idsRuntime || g.State != waitLock || g.ID != thread || r.Runtime != "a runtime of 2016" {
		t.Errorf("ids are of kind %d, the state is %#x, the thread %d of %s", r.IDs, g.State, g.ID, r.Runtime)
	}
	if len(g.Held) != 1 || g.Held[0].Lock() != 0x1000 || len(g.Forked) != 1 || g.Forked[0].Region != region {
		t.Fatalf("locks %v; regions %v", g.Held, g.Forked)
	}
	if len(g.Tasks) != 2 || g.Tasks[1].Region != region || g.Tasks[1].ID != task || g.Forked[0].Value != 4 {
		t.Errorf("tasks %+v; %d threads", g.Tasks, g.Forked[0].Value)
	}
	// From the initial task to the wait; the second task_switch is the return from a task
	// that has ended.
	want := []trace.Code{7, 3, 7, 5, 6, 6, 6, 20, 20, 21, 21, 23, 23, 26, 27, 28, 28, 26}
	if got := codes(g.main); !slices.Equal(got, want) {
		t.Errorf("the events are %d, want %d", got, want)
	}
}

// codes returns the codes of OMPT's own events.
func codes(events []trace.Event) (out []trace.Code) {
	for _, e := range events {
		if e.Code < 64 {
			out = append(out, e.Code)
		}
	}
	return out
}

// TestToolDisabled requires that OMP_TOOL disables the recorder on real runtimes. GNU's runtime does not read it; the
// recorder does. Without OMP_TOOL, the same program is recorded.
func TestToolDisabled(t *testing.T) {
	for _, runtime := range append(omptest.Runtimes(t), omptest.Libgomp(t)) {
		b := omptest.Build{Program: "lock_cycle"}
		if gnu(runtime) {
			b.Compiler = omptest.GCC
		}
		for _, value := range []string{"disabled", "Disabled", "enabled"} {
			p := omptest.Start(t, omptest.Run{
				Exe: omptest.Compile(t, b), Runtime: runtime, Mode: omptest.Live,
				Env: []string{"LD_PRELOAD=" + omptest.Recorder(t), "OMP_TOOL=" + value},
			})
			records := strings.Contains(mappingsOf(t, p.PID), "ompd-recorder (deleted)")
			if want := value == "enabled"; records != want {
				t.Errorf("%s, OMP_TOOL=%s: it records: %t", runtime.Name, value, records)
			}
		}
	}
}

// TestNextIgnored requires a message if a tool is named for GNU's runtime, which supports no tools.
func TestNextIgnored(t *testing.T) {
	exe := build(t, "gcc", "region.c", "-fopenmp")
	for next, want := range map[string]bool{"": false, "libother.so": true} {
		cmd := exec.Command(exe)
		cmd.Env = []string{"LD_PRELOAD=" + omptest.Recorder(t), "OMPD_RECORDER_NEXT=" + next,
			"LD_LIBRARY_PATH=" + omptest.Libgomp(t).Dir}
		out, _ := cmd.CombinedOutput()
		if got := strings.Contains(string(out), "OMPD_RECORDER_NEXT is ignored"); got != want {
			t.Errorf("next tool %q: it prints %q", next, out)
		}
	}
}

// mappingsOf returns a process's /proc/PID/maps.
func mappingsOf(t *testing.T, pid int) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(maps)
}
