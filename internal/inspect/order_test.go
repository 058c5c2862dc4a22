package inspect_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
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
			cfg := goldenConfig(t, name)
			want := answers(t, cfg, 0, 1)
			for _, a := range want {
				if strings.HasPrefix(a, "LWP") {
					found++
				}
			}
			for seed := range uint64(orders) {
				before := cfg
				before.Functions = &inspect.Functions{}
				if seed%2 == 0 {
					before.Runtimes = nil
				}
				answers(t, before, seed+1, 0.5)
				after := cfg
				after.Functions = before.Functions
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
func answers(t *testing.T, cfg inspect.Config, seed uint64, part float64) map[string]string {
	t.Helper()
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	questions := inspect.LockQuestions(in)
	order := slices.Sorted(maps.Keys(questions))
	random := rand.New(rand.NewPCG(seed, 7))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	out := map[string]string{}
	for _, q := range order[:int(part*float64(len(order)))] {
		out[q] = questions[q]()
	}
	return out
}

// goldenConfig opens a golden core, and what is needed to look at it.
func goldenConfig(t *testing.T, name string) inspect.Config {
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
	cfg := inspect.Config{Target: core, Symbolizer: sym, Unwinder: unwind.New(core, core.Arch(), mods)}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	return cfg
}
