package inspect

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// TestOtherSchemas holds the JSON schemas beside that of the picture against
// their types.
func TestOtherSchemas(t *testing.T) {
	for _, s := range []struct {
		file, version string
		top           reflect.Type
		defs          map[string]reflect.Type
	}{
		{"ps", ProcessSchema, reflect.TypeFor[Processes](), map[string]reflect.Type{"process": reflect.TypeFor[Process](), "runtime": reflect.TypeFor[ProcessCode]()}},
		{"breakpoints", BreakpointSchema, reflect.TypeFor[Breakpoints](), map[string]reflect.Type{"location": reflect.TypeFor[Breakpoint](), "entry": reflect.TypeFor[BodyEntry]()}},
		{"watch", WatchSchema, reflect.TypeFor[Look](), map[string]reflect.Type{
			"change": reflect.TypeFor[Change](), "thread": reflect.TypeFor[ThreadChange](), "turnover": reflect.TypeFor[Turnover](),
		}},
	} {
		b, err := os.ReadFile("../proto/" + s.file + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		var doc schema
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		compare(t, s.file, doc, s.top)
		for name, typ := range s.defs {
			compare(t, s.file+" "+name, doc.Defs[name], typ)
		}
		if !strings.Contains(string(b), `"const": "`+s.version+`"`) || len(doc.Defs) != len(s.defs) {
			t.Errorf("%s: not version %s with %d definitions", s.file, s.version, len(s.defs))
		}
	}
}

// Places of threads that the tests below compare.
var (
	computing = place{role: "initial", state: "work_serial", stack: "a", known: true, regs: "1"}
	waiting   = place{role: "worker", state: "wait_barrier_explicit", stack: "a", known: true, inside: true, counters: []rtl.Counter{{Name: "barriers", Value: 7}}}
	idle      = place{role: "idle", state: "idle", known: true, inside: true}
	foreign   = place{role: "none", stack: "b", known: true, regs: "1"}
)

func with(p place, change func(*place)) place {
	p.counters = slices.Clone(p.counters)
	change(&p)
	return p
}

// TestVerdicts gives the verdict for each kind of movement.
func TestVerdicts(t *testing.T) {
	busy, asleep := ThreadUse{LWP: 1, CPU: time.Second}, ThreadUse{LWP: 1}
	for _, c := range []struct {
		name        string
		before, now place
		use         ThreadUse
		want, did   string
	}{
		{"asleep in a barrier", waiting, waiting, asleep, WatchStuck, ThreadStill},
		{"woken by the look only", waiting, waiting, ThreadUse{LWP: 1, Switches: 2}, WatchStuck, ThreadStill},
		{"spins in a barrier", waiting, waiting, busy, WatchSpinning, ThreadSpun},
		{"another barrier at the same place", waiting, with(waiting, func(p *place) { p.counters[0].Value++ }), busy, WatchProgress, ThreadMoved},
		{"registers of a wait", waiting, with(waiting, func(p *place) { p.regs = "2" }), busy, WatchSpinning, ThreadSpun},
		{"computes in one loop", computing, with(computing, func(p *place) { p.regs = "2" }), busy, WatchProgress, ThreadMoved},
		{"loops on a flag", computing, computing, busy, WatchSpinning, ThreadSpun},
		{"polls with sleeps", computing, computing, ThreadUse{LWP: 1, Switches: 900}, WatchSpinning, ThreadSpun},
		{"sleeps in the program's code", computing, computing, asleep, WatchStuck, ThreadStill},
		{"another function", computing, with(computing, func(p *place) { p.stack = "c" }), asleep, WatchProgress, ThreadMoved},
		{"another task", waiting, with(waiting, func(p *place) { p.task = "0x1" }), asleep, WatchProgress, ThreadMoved},
		{"runs, not stopped", with(computing, func(p *place) { p.known = false }), with(computing, func(p *place) { p.known = false }), busy, WatchUnknown, ThreadRan},
		{"spins, not stopped", with(waiting, func(p *place) { p.known = false }), with(waiting, func(p *place) { p.known = false }), busy, WatchSpinning, ThreadSpun},
		{"spins in the pool", idle, idle, busy, WatchStuck, ThreadSpun},
		{"called from the pool", idle, waiting, busy, WatchProgress, ThreadMoved},
		{"no thread of OpenMP", foreign, with(foreign, func(p *place) { p.regs = "2" }), busy, WatchProgress, ThreadMoved},
	} {
		a, b := &Track{places: map[int]place{1: c.before}}, &Track{places: map[int]place{1: c.now}}
		got := b.Since(a, time.Second, []ThreadUse{c.use})
		if got.Verdict != c.want || len(got.Threads) != 1 || got.Threads[0].Did != c.did || got.Reason == "" {
			t.Errorf("%s: %+v, want %s, %s", c.name, got, c.want, c.did)
		}
	}
}

// TestWatchdogs tells threads that only look after others from those that work.
func TestWatchdogs(t *testing.T) {
	moved := with(foreign, func(p *place) { p.regs = "2" })
	for _, c := range []struct {
		openmp place
		cpu    time.Duration
		want   string
	}{
		{waiting, 20 * time.Millisecond, WatchStuck},      // a watchdog beside a hang
		{waiting, 800 * time.Millisecond, WatchProgress},  // others work for those that wait
		{computing, 20 * time.Millisecond, WatchProgress}, // the thread may be joining it
	} {
		a := &Track{places: map[int]place{1: c.openmp, 2: foreign}}
		b := &Track{places: map[int]place{1: c.openmp, 2: moved}}
		if got := b.Since(a, time.Second, []ThreadUse{{LWP: 2, CPU: c.cpu}}); got.Verdict != c.want {
			t.Errorf("%s beside %v: %+v, want %s", c.openmp.state, c.cpu, got, c.want)
		}
	}
}

// TestTurnover counts threads, regions and tasks that come and go, and keeps what
// moved in the middle of a longer time.
func TestTurnover(t *testing.T) {
	a := &Track{places: map[int]place{1: waiting, 2: waiting}, regions: map[ID]bool{"r": true, "s": true}, tasks: map[string]bool{"k": true}}
	b := &Track{places: map[int]place{1: waiting, 3: waiting}, regions: map[ID]bool{"r": true}, tasks: map[string]bool{"k": true, "l": true}}
	got := b.Since(a, time.Second, nil)
	if got.Regions != (Turnover{Ended: 1, Same: 1}) || got.Tasks != (Turnover{New: 1, Same: 1}) || got.Verdict != WatchProgress {
		t.Errorf("%+v", got)
	}
	var did []string
	for _, th := range got.Threads {
		did = append(did, th.Did)
	}
	if strings.Join(did, " ") != "still ended new" {
		t.Errorf("threads: %v", did)
	}
	whole := a.Since(a, 2*time.Second, nil)
	if whole.Verdict != WatchStuck {
		t.Errorf("%+v", whole)
	}
	there := &Track{places: map[int]place{1: with(waiting, func(p *place) { p.task = "0x1" }), 2: waiting}, regions: a.regions, tasks: a.tasks}
	whole.Raise(there.Since(a, time.Second, nil))
	whole.Raise(a.Since(there, time.Second, nil))
	if whole.Verdict != WatchProgress || whole.Threads[0].Did != ThreadMoved || whole.Threads[1].Did != ThreadStill || !slices.Equal(whole.Threads[0].Moved, []string{"task"}) {
		t.Errorf("%+v", whole)
	}
}
