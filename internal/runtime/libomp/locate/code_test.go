package locate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// codeCore opens a core of a program on a runtime, and finds the runtime in it.
func codeCore(tb testing.TB, r omptest.Runtime) (*corefile.Core, *callbacks.Module, omptest.Truth) {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: "nested"})
	d := omptest.Dump(tb, omptest.Run{Exe: exe, Runtime: r, Mode: omptest.Kernel})
	core, err := corefile.Open(d.Core, corefile.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { core.Close() })
	mods, err := Find(core, nil)
	if err != nil || len(mods) != 1 {
		tb.Fatalf("%d runtimes, %v", len(mods), err)
	}
	return core, mods[0], d.Truth
}

// since maps rules to the release that introduced their function or field.
var since = map[string]int{
	"td_icvs.task_thread_limit": 19, "td_flags.tasktype": 16, // omp_in_explicit_task
}

// TestCodeFields compares every field from code with the combined other sources, on real cores.
func TestCodeFields(t *testing.T) {
	for _, r := range omptest.Runtimes(t) {
		t.Run(r.Name, func(t *testing.T) {
			core, mod, _ := codeCore(t, r)
			loc, err := Locate(core, mod, layout.Options{})
			if err != nil {
				t.Fatal(err)
			}
			src := newCodeSource(core, mod)
			for _, name := range ruleFields() {
				want, asked := loc.Report.Lookup(name.Type, name.Field)
				if r.Major < since[name.Field] || !asked {
					continue
				}
				got, err := src.Field(name.Type, name.Field)
				if err != nil {
					t.Errorf("%s.%s: %v", name.Type, name.Field, err)
				} else if f := want.Field; got.Offset != f.Offset || got.Size != f.Size || got.Mask != f.Mask {
					t.Errorf("%s.%s: code says %v, %s says %v", name.Type, name.Field, got, want.Source, f)
				}
			}
		})
	}
}

// ruleFields lists all fields on the paths of the rules.
func ruleFields() []layout.FieldName {
	rules := layoutcode.Rules{Rules: codeRules, Root: "kmp_base_info_t", Pointees: pointees}
	return rules.Fields()
}

// TestCodeGlobals checks the contents of the variables that functions return.
func TestCodeGlobals(t *testing.T) {
	for _, r := range omptest.Runtimes(t) {
		t.Run(r.Name, func(t *testing.T) {
			core, mod, truth := codeCore(t, r)
			src := newCodeSource(core, mod)
			value := func(name string, size uint64) int64 {
				a, err := src.Global(name)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return -1
				}
				v, err := layout.ReadUint(core, callbacks.Addr(a), size)
				if err != nil || !mod.Contains(callbacks.Addr(a)) {
					t.Errorf("%s at %#x: %v", name, a, err)
				}
				return int64(v)
			}
			pool, err := core.Symbol("__kmp_thread_pool", mod.Path)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := src.Global("__kmp_threads"); err != nil || a != pool.Offset-0x48 {
				t.Errorf("__kmp_threads at %#x, %v; __kmp_thread_pool at %v", a, err, pool)
			}
			if n := value("__kmp_all_nth", 4); n != int64(len(truth.Threads)) {
				t.Errorf("__kmp_all_nth is %d, the program has %d threads", n, len(truth.Threads))
			}
			for name, v := range map[string]int64{"__kmp_omp_cancellation": 0, "__kmp_max_task_priority": 0,
				"__kmp_library": 3} {
				if got := value(name, 4); got != v {
					t.Errorf("%s is %d, want %d", name, got, v)
				}
			}
			if n := value("__kmp_avail_proc", 4); n < 1 || n > 4096 {
				t.Errorf("__kmp_avail_proc is %d", n)
			}
			if n := value("__kmp_stksize", 8); n < 1<<20 || n > 1<<30 {
				t.Errorf("__kmp_stksize is %d", n)
			}
			if n := value("__kmp_nth", 4); n < 1 || n > int64(len(truth.Threads)) {
				t.Errorf("__kmp_nth is %d, the program has %d threads", n, len(truth.Threads))
			}
		})
	}
}

// TestCodeUnknown checks that names without code are ErrUnknown, also on a target that lacks the function.
func TestCodeUnknown(t *testing.T) {
	core, mod, _ := codeCore(t, omptest.RuntimeOf(t, 16))
	mods, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	other := mods[slices.IndexFunc(mods, func(m *callbacks.Module) bool { return strings.Contains(m.Path, "libc.so") })]
	for _, m := range []*callbacks.Module{mod, other} {
		src := newCodeSource(core, m)
		_, typErr := src.Type("kmp_info_t")
		_, fieldErr := src.Field("kmp_base_info_t", "th_cg_roots")
		_, globalErr := src.Global("__kmp_root")
		for _, err := range []error{typErr, fieldErr, globalErr} {
			if !errors.Is(err, layout.ErrUnknown) {
				t.Errorf("%s: %v, want ErrUnknown", m.Path, err)
			}
		}
	}
	src := newCodeSource(core, other)
	for _, name := range ruleFields() {
		if f, err := src.Field(name.Type, name.Field); !errors.Is(err, layout.ErrUnknown) {
			t.Errorf("the C library says that %v is at %v, error %v", name, f, err)
		}
	}
}

// BenchmarkCode resolves the names that most others depend on, as at each start, and all names that the code
// gives.
func BenchmarkCode(b *testing.B) {
	core, mod, _ := codeCore(b, omptest.RuntimeOf(b, 19))
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			src := newCodeSource(core, mod)
			src.Global("__kmp_threads")
			src.Field("kmp_base_info_t", "th_team")
			src.Field("kmp_base_info_t", "th_current_task")
			src.Field("kmp_base_team_t", "t_level")
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			src := newCodeSource(core, mod)
			for _, name := range ruleFields() {
				src.Field(name.Type, name.Field)
			}
		}
	})
}
