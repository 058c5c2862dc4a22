package verdicts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// expectation is a program with its verdict, if any, and the verdict's text.
type expectation struct {
	program   string
	args      []string
	env       []string
	crash     bool                // dies by a signal of its own
	bare      bool                // built without debug information
	standard  string              // of C++, if not the compiler's default
	only      string              // the lanes in which it holds, by family, name or build: libgomp-O0 O1; empty: all
	never     string              // the lanes in which it does not hold
	info      bool                // the verdict is information
	kind      picture.VerdictKind // of the required verdict; empty: no hang, no crash
	certainty picture.Certainty   // empty: certain or likely, depending on the optimization
	threads   int                 // number in the verdict, or anyNumber
	behind    int                 // that are stuck because of these; 0: any number
	waits     []string            // waits of the threads of the cycle: kind and name, or a kind with any name
	says      []string            // parts of the text
	llvm, gcc []string            // parts of the text on one family of runtimes
}

// anyNumber is the number of threads of a verdict if it depends on the machine.
const anyNumber = -1

// holdsIn reports whether e holds in a lane.
func (e expectation) holdsIn(l e2e.Lane) bool {
	return (e.only == "" || l.Matches(e.only)) && !l.Matches(e.never)
}

// inLane returns the program of e as a lane builds and runs it.
func (e expectation) inLane() e2e.Program {
	return e2e.Program{Name: e.program, Args: e.args, Env: e.env, Crash: e.crash, Bare: e.bare, Standard: e.standard}
}

// TestVerdicts requires the exact verdict on a program for each kind, and no verdict on similar healthy programs.
func TestVerdicts(t *testing.T) {
	for _, l := range e2e.Lanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			checkVerdicts(t, l, expectations())
		})
	}
}

// aboutProcessors are the programs whose verdicts are different ones with a single processor.
var aboutProcessors = []string{"verdict_one_thread", "verdict_oversubscribed"}

// checkVerdicts checks the verdicts on programs that run in a lane.
func checkVerdicts(t *testing.T, l e2e.Lane, es []expectation) {
	t.Helper()
	row := omptest.SupportPart{Runtime: l.Family, Target: "verdicts", Build: l.String()}
	if omptest.SupportFile() != "" {
		row.Release = l.Runtime(t).Major
	}
	count := omptest.RecordSupport(t, row)
	for _, e := range es {
		if !e.holdsIn(l) || e.crash && l.Mode == omptest.Live || l.Family == "libgomp" && l.Release != 0 && !inC(t, e) {
			continue
		}
		if !l.Turn(e.caseName()) {
			continue
		}
		t.Run(e.caseName(), func(t *testing.T) {
			if slices.Contains(aboutProcessors, e.program) {
				several(t)
			}
			defer count(t)
			e.check(t, l, l.Look(t, e.inLane()))
		})
	}
}

// caseName returns the name of the test of an expectation: its program, with its arguments and variables.
func (e expectation) caseName() string {
	words := slices.Concat(e.args, e.env)
	if e.bare {
		words = append(words, "bare")
	}
	return caseName(e.program, words)
}

func caseName(program string, words []string) string {
	return strings.Join(append([]string{program}, words...), "-")
}

// inC reports whether a program is in C.
func inC(t *testing.T, e expectation) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(omptest.Programs(t), e.program+".c"))
	return err == nil
}

// faults returns the verdicts on defects, without those on their consequences and on more threads than
// processors: the machine may be small. A call of abort that only leaves a core is not one.
func (e expectation) faults(vs []picture.Verdict) []picture.Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v picture.Verdict) bool {
		return v.Severity == picture.SeverityInfo || strings.Contains(v.Summary, " called abort in truth_end") ||
			v.Kind != e.kind && (v.Kind == picture.VerdictBarrierMissing || v.Kind == picture.VerdictOversubscribed)
	})
}

func (e expectation) check(t *testing.T, l e2e.Lane, target string) {
	t.Helper()
	status, pic := e2e.Diagnose(t, target)
	e.judge(t, l, status, pic, target)
}

// checkLocks requires that an object that belongs to no runtime is one lock of the facts for all threads that wait for
// it, those of OpenMP and others.
func checkLocks(t *testing.T, pic *picture.Picture) {
	t.Helper()
	type object struct {
		kind    picture.WaitKind
		address picture.Hex
	}
	locks := map[object]picture.ID{}
	for _, w := range pic.Facts.Waits {
		if w.Kind != picture.WaitMutex && w.Kind != picture.WaitReadWrite || w.Address == nil {
			continue
		}
		o := object{w.Kind, *w.Address}
		if other := locks[o]; other != "" && other != w.Lock {
			t.Errorf("%s at %v is %s and %s", w.Kind, *w.Address, other, w.Lock)
		}
		locks[o] = w.Lock
	}
}

// judge compares the verdicts of a picture, and the exit status of diagnose, with the expectation.
func (e expectation) judge(t *testing.T, l e2e.Lane, status int, pic *picture.Picture, target string) {
	t.Helper()
	for _, th := range pic.Threads {
		if s := th.State; s != nil && s.Standard != "" && strings.Contains(s.Evidence, "user code") {
			t.Errorf("LWP %d: %s because %s", th.LWP, s.Name, s.Evidence)
		}
	}
	checkLocks(t, pic)
	want := cli.ExitOK
	if slices.ContainsFunc(pic.Verdicts, diagnose.Crashes) { // the expected one, or the abort that dumped the core
		want = cli.ExitCrash
	}
	found := e.faults(pic.Verdicts)
	if e.info {
		if len(found) > 0 || status != want {
			t.Errorf("exit status %d and %+v, want information only", status, found)
		}
		found = slices.DeleteFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Kind != e.kind })
	}
	if e.kind == "" {
		if len(found) > 0 || status != want {
			t.Errorf("exit status %d and %+v, want no verdict", status, found)
		}
		return
	}
	if len(found) != 1 || found[0].Kind != e.kind {
		t.Fatalf("verdicts %+v, want one %s\ntarget %s", found, e.kind, target)
	}
	v := found[0]
	if e.certainty != "" && v.Certainty != e.certainty || e.certainty == "" && v.Certainty == picture.Possible ||
		e.threads != anyNumber && len(v.Threads) != e.threads {
		t.Errorf("%s with %d threads, want %s with %d\ntarget %s\n%v", v.Certainty, len(v.Threads), e.certainty,
			e.threads, target, v.Evidence)
	}
	if e.behind != 0 && len(v.Waiting) != e.behind {
		t.Errorf("LWPs %v are stuck behind it, want %d\ntarget %s\n%v", v.Waiting, e.behind, target, v.Evidence)
	}
	if diagnose.Hangs(v) {
		want = cli.ExitFound
	}
	if status != want {
		t.Errorf("exit status %d, want %d", status, want)
	}
	var waits []string
	for _, s := range v.Cycle {
		name := threadNumber.ReplaceAllString(s.WaitsFor.Name, "")
		waits = append(waits, strings.TrimSpace(string(s.WaitsFor.Kind)+" "+name))
	}
	slices.Sort(waits)
	for i, want := range e.waits { // a kind alone: the name depends on the compiler
		if !strings.Contains(want, " ") && i < len(waits) {
			waits[i], _, _ = strings.Cut(waits[i], " ")
		}
	}
	if !slices.Equal(waits, e.waits) {
		t.Errorf("the threads wait for %q, want %q", waits, e.waits)
	}
	e.checkText(t, l, pic)
}

// threadNumber matches the end of a wait's name if the wait is for a thread.
var threadNumber = regexp.MustCompile(`(^| )\d+$`)

// checkText requires the expected words in the text for users.
func (e expectation) checkText(t *testing.T, l e2e.Lane, pic *picture.Picture) {
	t.Helper()
	var b bytes.Buffer
	text.Verdicts(text.New(&b, false, text.NoLimit), pic)
	for _, s := range slices.Concat(e.says, map[string][]string{"libomp": e.llvm, "libgomp": e.gcc}[l.Family]) {
		if !strings.Contains(b.String(), s) {
			t.Errorf("the text does not say %q:\n%s", s, b.String())
		}
	}
}

// TestLockNamesInThreadsAndVerdict compares the waits in the table of threads with those in the verdict.
func TestLockNamesInThreadsAndVerdict(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Build != "O1" {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			for _, p := range []e2e.Program{{Name: "verdict_lock_names", Args: []string{"1"}},
				{Name: "verdict_critical_cycle"}, {Name: "verdict_atomic"}} {
				status, out, errs := e2e.Output(t, "--json", l.Look(t, p))
				if status != cli.ExitOK {
					t.Fatalf("exit status %d: %s", status, errs)
				}
				pic, names := e2e.Decode(t, out), map[int]string{}
				for _, th := range pic.Threads {
					names[th.LWP] = th.WaitName
				}
				if len(pic.Verdicts) == 0 {
					t.Fatalf("%s: no verdict", p.Name)
				}
				for _, s := range pic.Verdicts[0].Cycle {
					if names[s.Thread] != s.WaitsFor.Name {
						t.Errorf("LWP %d waits for %q in the table of threads, for %q in the verdict", s.Thread,
							names[s.Thread], s.WaitsFor.Name)
					}
				}
			}
		})
	}
}

// TestNoFalseVerdicts runs all programs of the matrix, which wait for many events but, with one exception, do not
// hang.
func TestNoFalseVerdicts(t *testing.T) {
	for _, major := range []int{14, 15, 16, 19} {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			t.Parallel()
			for _, s := range e2e.Situations {
				if s.Program == "lock_cycle" || !e2e.SituationTurn("kernel", major, s.Program) {
					continue
				}
				t.Run(s.Program, func(t *testing.T) {
					run := omptest.Run{
						Exe:     omptest.Compile(t, omptest.Build{Program: s.Program}),
						Runtime: omptest.RuntimeOf(t, major),
						Args:    s.Args, Mode: omptest.Kernel,
					}
					if s.Segv {
						run.Mode = omptest.Segv
					}
					status, pic := e2e.Diagnose(t, omptest.Dump(t, run).Core)
					for _, v := range pic.Verdicts {
						if v.Severity == picture.SeverityHang {
							t.Errorf("%s: %s", v.Kind, v.Summary)
						}
					}
					want := cli.ExitOK
					if slices.ContainsFunc(pic.Verdicts, diagnose.Crashes) {
						want = cli.ExitCrash
					}
					if status != want || s.Segv && want != cli.ExitCrash {
						t.Errorf("exit status %d, want %d; a crash: %v", status, want, s.Segv)
					}
				})
			}
		})
	}
}

// TestNoVerdictWithoutStacks looks at a core without the threads' stacks: gdb cannot read those of a newer C
// library. No verdict follows from missing stacks.
func TestNoVerdictWithoutStacks(t *testing.T) {
	for _, c := range []struct {
		program  string
		compiler omptest.Compiler
		runtime  omptest.Runtime
	}{
		{"healthy_released", omptest.GCC, omptest.LibgompOf(t, "sid")},
		{"barrier", omptest.LLVM, omptest.RuntimeOf(t, 23)},
	} {
		exe := omptest.Compile(t, omptest.Build{Program: c.program, Compiler: c.compiler})
		r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: c.runtime, Mode: omptest.Gcore})
		status, out, errs := e2e.Output(t, "diagnose", "--json", r.Core)
		pic := e2e.Decode(t, out)
		found := (expectation{}).faults(pic.Verdicts)
		if status != cli.ExitError || len(found) > 0 || !strings.Contains(errs, "are unknown") {
			t.Errorf("%s: exit status %d, %q and %+v, want no verdict, and why", c.program, status, errs, found)
		}
		if i := slices.IndexFunc(pic.Verdicts, func(v picture.Verdict) bool { return len(v.Missing) > 0 }); i >= 0 {
			t.Errorf("%s: %s", c.program, pic.Verdicts[i].Summary)
		}
		e2e.CheckUnreadable(t, r.Core, "its stack and thread-local data are not in the core")
		if !slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "reads as zeros") }) {
			t.Errorf("warnings %q do not tell that stacks are missing", pic.Warnings)
		}
	}
}
