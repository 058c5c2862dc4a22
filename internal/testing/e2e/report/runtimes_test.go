package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pair is a program with two runtimes: its own, and that of a library which it loads.
type pair struct {
	name        string
	compiler    omptest.Compiler
	runtime     func(testing.TB) omptest.Runtime
	other       func(testing.TB) omptest.Runtime
	env         []string
	own, others string // IDs in the picture
}

func pairs() []pair {
	llvm := func(t testing.TB) omptest.Runtime { return omptest.RuntimeOf(t, 16) }
	wheel := func(t testing.TB) omptest.Runtime {
		return omptest.Renamed(t, omptest.Libgomp(t), "libgomp-a34b3233.so.1.0.0") // its name in wheels
	}
	twice := []string{"KMP_DUPLICATE_LIB_OK=TRUE"} // without it LLVM's runtime ends the program
	return []pair{
		{name: "libgomp in libomp", runtime: llvm, other: omptest.Libgomp, own: "libomp", others: "libgomp"},
		{name: "libomp in libgomp", compiler: omptest.GCC, runtime: omptest.Libgomp, other: llvm, own: "libgomp",
			others: "libomp"},
		{name: "bundled libgomp in libgomp", compiler: omptest.GCC, runtime: omptest.Libgomp, other: wheel,
			own: "libgomp", others: "libgomp-2"},
		{name: "bundled libgomp in libomp", runtime: llvm, other: wheel, own: "libomp", others: "libgomp"},
		{name: "releases of libgomp", compiler: omptest.GCC, runtime: omptest.Libgomp, own: "libgomp",
			others: "libgomp-2",
			other:  func(t testing.TB) omptest.Runtime { return omptest.LibgompOf(t, "bullseye") }},
		{name: "libomp by libgomp's name in libomp", runtime: llvm, own: "libomp", others: "libomp-2", env: twice,
			other: func(t testing.TB) omptest.Runtime {
				return omptest.Renamed(t, omptest.RuntimeOf(t, 19), "libgomp.so.1")
			}},
		{name: "libomp by libgomp's name in libgomp", compiler: omptest.GCC, runtime: omptest.Libgomp, own: "libgomp",
			others: "libomp",
			other: func(t testing.TB) omptest.Runtime {
				return omptest.Renamed(t, omptest.RuntimeOf(t, 16), "libgomp.so.1")
			}},
	}
}

// TestTwoRuntimes finds both runtimes of a process under any file names, with the threads of each, as cores and
// live, and warns.
func TestTwoRuntimes(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			other := p.other(t)
			run := omptest.Run{
				Exe:     omptest.Compile(t, omptest.Build{Program: "verdict_two_runtimes", Compiler: p.compiler}),
				Runtime: p.runtime(t), Env: append(p.env, "OMPD_OTHER="+other.Lib), Mode: omptest.Kernel,
			}
			r := omptest.Dump(t, run)
			p.check(t, r.Core, r.Truth, other.Lib)
			run.Mode = omptest.Live
			live := omptest.Start(t, run)
			defer live.Stop()
			p.check(t, strconv.Itoa(live.PID), live.Truth, other.Lib)
		})
	}
}

func (p pair) check(t *testing.T, target string, truth omptest.Truth, lib string) {
	t.Helper()
	pic := e2e.Report(t, target)
	var ids []string
	for _, rt := range pic.Runtimes {
		ids = append(ids, rt.ID)
		if rt.ID == p.others && rt.Path != lib {
			t.Errorf("%s is %s, want %s", rt.ID, rt.Path, lib)
		}
	}
	if want := []string{p.own, p.others}; len(ids) != 2 || !slices.Contains(ids, want[0]) ||
		!slices.Contains(ids, want[1]) {
		t.Fatalf("runtimes %v, want %v: %v", ids, want, pic.Warnings)
	}
	own := 0
	for _, want := range truth.Threads {
		if want.OpenMP {
			own++
			e2e.CheckThread(t, pic, want, true)
			if th := e2e.FindThread(pic, want.LWP); th.Runtime != p.own {
				t.Errorf("LWP %d is of %s, want %s", want.LWP, th.Runtime, p.own)
			}
		}
	}
	var nums []int
	for _, th := range pic.Threads {
		if th.Runtime == p.others && e2e.IntOf(th.TeamSize) == 2 {
			nums = append(nums, e2e.IntOf(th.ThreadNum))
		}
	}
	slices.Sort(nums)
	if own != 2 || !slices.Equal(nums, []int{0, 1}) {
		t.Errorf("%d threads of the program's own team, numbers %v in the other's", own, nums)
	}
	i := slices.IndexFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Kind == picture.VerdictTwoRuntimes })
	if i < 0 || pic.Verdicts[i].Severity != picture.SeverityWarning || !slices.ContainsFunc(pic.Verdicts[i].Evidence,
		func(e string) bool { return strings.Contains(e, lib) }) {
		t.Errorf("verdicts %+v", pic.Verdicts)
	}
}

// TestRuntimeUnderOtherFileName runs programs on a runtime with an unusual file name: the report finds that
// runtime and no other, without a warning.
func TestRuntimeUnderOtherFileName(t *testing.T) {
	for _, c := range []struct {
		name, program, family string
		lib                   omptest.Runtime
		preload               bool
	}{
		{"bundled libgomp", "nested", "libgomp", omptest.Renamed(t, omptest.Libgomp(t), "libgomp-a34b3233.so.1.0.0"),
			true},
		{"libomp as a copy", "lock", "libomp", omptest.Renamed(t, omptest.RuntimeOf(t, 16), "libgomp.so.1"), false},
		{"libomp as a link", "lock", "libomp", omptest.LibgompAlias(t), false},
		{"libomp 19 as a copy", "nest_lock", "libomp", omptest.Renamed(t, omptest.RuntimeOf(t, 19), "libgomp.so.1"),
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: c.program, Compiler: omptest.GCC}),
				Runtime: c.lib, Mode: omptest.Kernel}
			if c.preload {
				run.Env = []string{"LD_PRELOAD=" + c.lib.Lib}
			}
			r := omptest.Dump(t, run)
			run.Mode = omptest.Live
			live := omptest.Start(t, run)
			defer live.Stop()
			for target, truth := range map[string]omptest.Truth{r.Core: r.Truth, strconv.Itoa(live.PID): live.Truth} {
				pic := e2e.Report(t, target)
				if len(pic.Runtimes) != 1 || pic.Runtimes[0].ID != c.family {
					t.Fatalf("runtimes %+v", pic.Runtimes)
				}
				e2e.AdaptToGCC(c.program, &truth)
				for _, th := range truth.Threads {
					e2e.CheckThread(t, pic, th, true)
				}
			}
		})
	}
}
