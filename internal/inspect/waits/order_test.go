package waits_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/waits"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestLockQuestionsInAnyOrder asks all that can be asked of locks of the golden cores, in random
// orders, with what the code showed an Inspector before that knew of fewer runtimes, or of all, and was
// asked some of it: each answer is the same. A rehearsal may know of no runtime yet.
func TestLockQuestionsInAnyOrder(t *testing.T) {
	found, orders := 0, 4
	names := []string{"gnu-deadlock", "gnu-old-nest-lock", "gnu-ordered", "gnu-stripped"}
	if !testing.Short() {
		names = append(names, "llvm-deadlock", "llvm-deadlock-task", "llvm-lock-kept", "llvm-stripped")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cfg := openGolden(t, name)
			want := answers(t, cfg, 0, 1)
			for _, a := range want {
				if strings.HasPrefix(a, "LWP") {
					found++
				}
			}
			for seed := range uint64(orders) {
				before := cfg
				before.functions = &stacks.Functions{}
				if seed%2 == 0 {
					before.runtimes = nil
				}
				answers(t, before, seed+1, 0.5)
				after := cfg
				after.functions = before.functions
				got := answers(t, after, seed+2, 1)
				for q, a := range want {
					if got[q] != a {
						t.Errorf("seed %d: %s: %q, before %q", seed, q, got[q], a)
					}
				}
			}
		})
	}
	if found == 0 {
		t.Error("no lock has a holder")
	}
}

// answers asks a part of the questions in a random order.
func answers(t *testing.T, cfg goldenConfig, seed uint64, part float64) map[string]string {
	t.Helper()
	questions := waits.LockQuestions(cfg.newFinder(t))
	order := slices.Sorted(maps.Keys(questions))
	random := rand.New(rand.NewPCG(seed, 7))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	out := map[string]string{}
	for _, q := range order[:int(part*float64(len(order)))] {
		out[q] = questions[q]()
	}
	return out
}

// goldenConfig is an open golden core, with the readers of its code.
type goldenConfig struct {
	target    callbacks.Target
	runtimes  []rtl.Runtime
	symbols   *symbolize.Symbolizer
	unwinder  *unwind.Unwinder
	functions *stacks.Functions
}

// newFinder returns a Finder that starts with the configured functions.
func (c *goldenConfig) newFinder(t *testing.T) *waits.Finder {
	t.Helper()
	about, notes := &picture.Target{}, stacks.NewNotes(nil)
	code := stacks.NewCode(c.target, c.symbols, c.unwinder, c.runtimes, c.functions)
	threads, err := teams.NewThreadTable(c.runtimes, 0, about, notes, stacks.NewReader(code, notes))
	if err != nil {
		t.Fatal(err)
	}
	flows := stacks.NewFlow(code, nil)
	data := stacks.NewData(code, threads.NativeThreads, sync.OnceValue(func() *libc.Library {
		lc := libc.Config{Target: c.target}
		for _, n := range threads.All {
			lc.Threads = append(lc.Threads, libc.Thread{Pthread: n.Pthread, LWP: uint64(n.LWP)})
		}
		return libc.New(lc)
	}))
	model := teams.NewUserModel(threads, teams.NewRegionTable(threads, code), code, flows)
	return waits.New(waits.Config{
		About: about, Target: c.target, Notes: notes, Code: code, Flows: flows, Data: data, Threads: threads,
		States: teams.NewStates(threads, code, data, flows, model), Model: model, Locks: &recordings.Locks{},
	})
}

// openGolden opens a golden core.
func openGolden(t *testing.T, name string) goldenConfig {
	t.Helper()
	golden, done, err := omptest.ExampleCore(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	core, err := corefile.Open(golden.Core, corefile.Options{Exe: golden.Exe, Sysroot: golden.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	mods, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	procs, err := extended.Open(core, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sym := symbolize.New(mods, symbolize.Options{Sysroot: golden.Sysroot})
	t.Cleanup(func() { sym.Close() })
	cfg := goldenConfig{target: core, symbols: sym, unwinder: unwind.New(core, core.Arch(), mods)}
	for _, p := range procs {
		cfg.runtimes = append(cfg.runtimes, rtl.Runtime(p))
	}
	return cfg
}
