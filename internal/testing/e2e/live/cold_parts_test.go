package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestColdParts looks at locks in functions that compilers split, in a process and in its core. A lock is held in one
// part and was acquired, or will be released, in another.
func TestColdParts(t *testing.T) {
	omptest.Needs(t, "compilers")
	builds := []struct {
		name, compiler string
		flags          []string
		runtime        func(t *testing.T) omptest.Runtime
	}{
		// With -fipa-ra, a pointer may stay in a register that calls do not keep: its value is not known later.
		{"GCC", "gcc", []string{"-g", "-fno-ipa-ra"}, libgomp12},
		{"GCC, stripped", "gcc", []string{"-s", "-fno-ipa-ra"}, libgomp12},
		{"clang, each block", "clang-16", []string{"-g", "-fbasic-block-sections=all"}, libomp16},
	}
	ways := []struct {
		waiting int
		check   func(t *testing.T, way int, pic *picture.Picture)
	}{{2, checkColdDeadlock}, {1, checkColdHolder}, {2, checkColdDeadlock}, {1, checkColdHolder}, {2, checkColdLeak}}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			exe, runtime := filepath.Join(t.TempDir(), "program"), b.runtime(t)
			args := slices.Concat([]string{"-O2", "-fopenmp"}, b.flags,
				[]string{"-o", exe, filepath.Join("testdata", "cold_parts.c")})
			e2e.RunCompiler(t, exec.Command(omptest.Program(t, b.compiler), args...))
			for way, want := range ways {
				pid := startTarget(t, runtime, []string{exe, fmt.Sprint(way)})
				live := awaitStates(t, pid, want.waiting, "wait_lock")
				_, dead := e2e.Diagnose(t, gcore(t, pid))
				for _, pic := range []*picture.Picture{live, dead} {
					want.check(t, way, pic)
				}
			}
		})
	}
}

func hangsOf(pic *picture.Picture) (out []picture.Verdict) {
	for _, v := range pic.Verdicts {
		if v.Severity == picture.SeverityHang {
			out = append(out, v)
		}
	}
	return out
}

// checkColdDeadlock requires that each thread holds one lock for certain.
func checkColdDeadlock(t *testing.T, way int, pic *picture.Picture) {
	t.Helper()
	hangs := hangsOf(pic)
	if len(hangs) != 1 || hangs[0].Kind != picture.VerdictDeadlock || hangs[0].Certainty != picture.Certain ||
		len(hangs[0].Threads) != 2 {
		t.Errorf("way %d: the hangs are %+v", way, hangs)
	}
}

// checkColdHolder requires that the first thread holds the lock for which the other waits, and that nothing hangs.
func checkColdHolder(t *testing.T, way int, pic *picture.Picture) {
	t.Helper()
	if hangs := hangsOf(pic); len(hangs) > 0 {
		t.Errorf("way %d: a hang in a healthy program: %+v", way, hangs)
	}
	if len(pic.Facts.Locks) != 1 {
		t.Fatalf("way %d: threads wait for the locks %+v", way, pic.Facts.Locks)
	}
	var certain []picture.Holder
	for _, h := range pic.Facts.Locks[0].Holders {
		if h.Certainty == picture.Certain {
			certain = append(certain, h)
		}
	}
	works := func(th picture.Thread) bool {
		return th.LWP == certain[0].Thread && th.State != nil && strings.HasPrefix(string(th.State.Name), "work")
	}
	if len(certain) != 1 || certain[0].AcquiredAt == nil || !slices.ContainsFunc(pic.Threads, works) {
		t.Errorf("way %d: the holders of the lock are %+v", way, pic.Facts.Locks[0].Holders)
	}
}

// checkColdLeak requires the line by which the code left the lock, if there are lines.
func checkColdLeak(t *testing.T, _ int, pic *picture.Picture) {
	t.Helper()
	hangs := hangsOf(pic)
	if len(hangs) != 1 || hangs[0].Kind != picture.VerdictLockOrphaned {
		t.Errorf("the hangs are %+v", hangs)
		return
	}
	if hangs[0].Certainty != picture.Likely {
		t.Errorf("the verdict is %s", hangs[0].Certainty)
	}
	if slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "no source lines") }) {
		return
	}
	last, leaks := lineOf(t, "cold_parts.c", "    return; /* with the lock */"), 0
	for _, l := range pic.Facts.Locks {
		for _, leak := range l.Leaks {
			if leaks++; leak.Frame.Line < last-3 || leak.Frame.Line > last {
				t.Errorf("the leak is at line %d, want one of the branch that ends at %d", leak.Frame.Line, last)
			}
		}
	}
	if leaks == 0 {
		t.Error("the verdict names no line")
	}
}
