package verdicts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkedChildren returns children after fork that wait for threads of their parent, and healthy twins. GNU's runtime
// still counts on the parent's threads in a healthy child of a region. LLVM's starts again in a child, and has other
// locks.
func forkedChildren() []expectation {
	e := expectation{
		program: "verdict_forked", env: e2e.Asleep, never: e2e.OwnCore, args: []string{"0"},
		kind: picture.VerdictForkChild, certainty: picture.Certain, threads: 1,
		says: []string{"it is a forked child", "call fork before the first parallel region"},
	}
	held := func(way, lock, only string) expectation {
		h := e
		h.args, h.certainty, h.only = []string{way}, picture.Likely, only
		h.says = []string{lock + ", which a thread of the parent held when this process was forked",
			"fork was called in", "verdict_forked.c:", "call fork where no other thread can hold a lock"}
		return h
	}
	counts := func(way string) expectation {
		c := e
		c.args, c.threads, c.only = []string{way, "1"}, 0, "libgomp"
		c.says = []string{"the next parallel region will wait"}
		return c
	}
	healthy := expectation{program: e.program, env: e.env, never: e.never, args: []string{"1", "1"}, only: "libomp"}
	return append(twins(held("3", "mutex mutex", ""), "3", "1"),
		e, held("1", "critical section ledger", ""), counts("1"), healthy,
		held("2", "lock lock", "libgomp"), counts("2"))
}

// TestParentNamesHungChild requires that the report on a process which waits for a child names the child, the cause of
// its hang, and the command for it. A child that works is not mentioned.
func TestParentNamesHungChild(t *testing.T) {
	for _, r := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.Libgomp(t)} {
		b := omptest.Build{Program: "verdict_forked", Flags: []string{"-O1", "-g"}}
		if r.Name == omptest.Libgomp(t).Name {
			b.Compiler = omptest.GCC
		}
		exe := omptest.Compile(t, b)
		for _, healthy := range []string{"0", "1"} {
			t.Run(r.Name+"/"+healthy, func(t *testing.T) {
				child := omptest.Start(t, omptest.Run{Exe: exe, Runtime: r, Mode: omptest.Live, Env: e2e.Asleep,
					Args: []string{"1", healthy}}).PID
				parent := omptest.AwaitWaitingParent(t, child)
				status, out, said := e2e.Output(t, "diagnose", fmt.Sprint(parent))
				out = strings.Join(strings.Fields(out), " ")
				want := fmt.Sprintf("it waits for its child process %d (", child)
				const cause = "which hangs: FORKED CHILD "
				next := fmt.Sprintf("next: `ompd-inspect %d`", child)
				switch {
				case healthy == "1" && (status != cli.ExitOK || strings.Contains(out, "which hangs")):
					t.Errorf("exit status %d: %s%s, want no hang", status, out, said)
				case healthy == "0" && (status != cli.ExitFound || !strings.Contains(out, want) ||
					!strings.Contains(out, cause) || !strings.Contains(out, next)):
					t.Errorf("exit status %d: %s%s, want %q, %q and %q", status, out, said, want, cause, next)
				}
			})
		}
	}
}

// TestForkInRegion runs a program with a child that was forked in a region, and reaches a barrier of it: the LLVM
// runtime dies there, and the crash's verdict names the fork.
func TestForkInRegion(t *testing.T) {
	for _, release := range []int{16, 19} {
		for _, optimize := range []string{"-O0", "-O2"} {
			t.Run(fmt.Sprintf("%d%s", release, optimize), func(t *testing.T) {
				b := omptest.Build{Program: "verdict_forked", Flags: []string{optimize, "-g"}}
				r := omptest.Run{
					Exe: omptest.Compile(t, b), Runtime: omptest.RuntimeOf(t, release), Args: []string{"4"},
					Mode: omptest.Live,
				}
				_, pic := e2e.ReportOfRun(t, r.CommandLine(t.TempDir()))
				if len(pic.Verdicts) == 0 {
					t.Fatalf("no verdict: %+v", pic.Facts)
				}
				v := pic.Verdicts[0]
				text := v.Summary + " " + v.Explanation + " " + v.Fix
				for _, want := range []string{"The process is a forked child (fork was called in ",
					"verdict_forked.c:", "cannot continue a parallel region of the parent", "call fork before"} {
					if v.Kind != picture.VerdictCrash || !strings.Contains(text, want) {
						t.Errorf("%s: %s, want %q\n%q", v.Kind, text, want, v.Evidence)
					}
				}
			})
		}
	}
}
