package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// expectation is a program with one verdict, or none, and what the verdict says.
type expectation struct {
	program   string
	args      []string
	env       []string
	crash     bool                // dies by a signal of its own
	bare      bool                // built without debug information
	standard  string              // of C++, where it is not the compiler's own choice
	only      string              // the lanes in which it holds, by family, name or build: libgomp-O0 O1; empty: all
	never     string              // the lanes in which it does not hold
	info      bool                // the verdict is information
	kind      picture.VerdictKind // of the verdict that must be there; empty: no hang, no crash
	certainty picture.Certainty   // empty: certain or likely, by how much the compiler left
	threads   int                 // that the verdict is about, or anyNumber
	behind    int                 // that are stuck behind them; 0: any number
	waits     []string            // what the threads of the cycle wait for: kind and name
	says      []string            // parts of the text
	llvm, gcc []string            // parts of the text on one family of runtimes
}

// anyNumber is the number of threads of a verdict where the machine decides on it.
const anyNumber = -1

// lane is one way to build programs, to run them, and to look at them.
type lane struct {
	name    string
	family  string // of the runtime
	build   string
	watched string // by which sanitizer the program is; empty: none
	runtime func(testing.TB) omptest.Runtime
	mode    omptest.Mode // of the run, if the program does not crash
	full    bool         // only in a full run: see omptest.Full
	rare    bool         // in a full run, or if the date chooses it out of all such
	release int          // of the compiler; 0: the usual one
}

// lanes are the runtimes with builds of several kinds, as cores and live.
func lanes() []lane {
	return slices.DeleteFunc(allLanes(), func(l lane) bool {
		return (l.full || l.rare && !omptest.Turn(rareTurn, l.String())) && !omptest.Full()
	})
}

func allLanes() []lane {
	llvm := func(major int) func(testing.TB) omptest.Runtime {
		return func(tb testing.TB) omptest.Runtime { return omptest.RuntimeOf(tb, major) }
	}
	gnu := func(suite string) func(testing.TB) omptest.Runtime {
		return func(tb testing.TB) omptest.Runtime { return omptest.LibgompOf(tb, suite) }
	}
	return append(rareLanes(llvm, gnu), []lane{
		{name: "libomp-14", family: "libomp", build: "O2", runtime: llvm(14), mode: omptest.Gcore, full: true},
		{name: "libomp-15", family: "libomp", build: "O1", runtime: llvm(15), mode: omptest.Gcore, full: true},
		{name: "libomp-16", family: "libomp", build: "O0", runtime: llvm(16), mode: omptest.Gcore},
		{name: "libomp-16", family: "libomp", build: "O1", runtime: llvm(16), mode: omptest.Gcore},
		{name: "libomp-16", family: "libomp", build: "O1", runtime: llvm(16), mode: omptest.Live},
		{name: "libomp-19", family: "libomp", build: "O2", runtime: llvm(19), mode: omptest.Gcore, full: true},
		{name: "libomp-19", family: "libomp", build: "O2", runtime: llvm(19), mode: omptest.Live},
		{name: "libgomp-bookworm", family: "libgomp", build: "O0", runtime: gnu("bookworm"),
			mode: omptest.Gcore, full: true},
		{name: "libgomp-bookworm", family: "libgomp", build: "O1", runtime: gnu("bookworm"),
			mode: omptest.Gcore, full: true},
		{name: "libgomp-bookworm", family: "libgomp", build: "O2", runtime: gnu("bookworm"), mode: omptest.Gcore},
		{name: "libgomp-bookworm", family: "libgomp", build: "O1", runtime: gnu("bookworm"), mode: omptest.Live},
		{name: "libgomp-bullseye", family: "libgomp", build: "O1", runtime: gnu("bullseye"),
			mode: omptest.Gcore, full: true},
		{name: "libgomp-trixie", family: "libgomp", build: "O2", runtime: gnu("trixie"),
			mode: omptest.Gcore, full: true},
		{name: "libgomp-trixie", family: "libgomp", build: "O2", runtime: gnu("trixie"), mode: omptest.Live},
		{name: "libgomp-sid", family: "libgomp", build: "O1", runtime: gnu("sid"), mode: omptest.Kernel},
	}...)
}

func (l lane) String() string {
	if l.watched != "" {
		return l.name + "-" + l.build + "-" + l.watched
	}
	name := l.name + "-" + strings.ReplaceAll(l.build, " ", "")
	if l.mode == omptest.Live && !l.rare {
		name += "-live"
	}
	return name
}

// turn reports whether a case runs today: all do in one lane of each family, and in one of
// two with processes; the rest by turns. In a quick run all do by turns, and those of the usual
// lanes as processes, since gcore takes longer than all else.
func (l lane) turn(name string) bool {
	switch {
	case omptest.Quick() && slices.Contains([]string{"libomp-16-O1-live", "libgomp-bookworm-O1-live"}, l.String()):
		return omptest.Turn(1, l.String(), name)
	case omptest.Quick():
		return omptest.Turn(quickRest, l.String(), name)
	case omptest.Full() || slices.Contains([]string{"libomp-16-O1", "libgomp-bookworm-O2"}, l.String()):
		return true
	case l.mode == omptest.Live && !l.rare:
		return omptest.Turn(2, name) == (l.build == "O1")
	}
	return omptest.Turn(rest, l.String(), name)
}

// quickRest is in how many of a quick run's turns a case of an unusual lane comes.
const quickRest = 30

// other is the runtime that a program which loads two has beside its own.
func (l lane) other(tb testing.TB) omptest.Runtime {
	if l.family == "libomp" {
		return omptest.Libgomp(tb)
	}
	return omptest.RuntimeOf(tb, 16)
}

// runs reports whether e holds in the lane.
func (l lane) runs(e expectation) bool {
	in := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(o string) bool {
			return strings.HasPrefix(l.name+"-"+l.build, o) || l.build == o || l.family+"-"+l.build == o
		})
	}
	return (e.only == "" || in(e.only)) && !in(e.never)
}

// run builds a program in the lane and says how to run it.
func (l lane) run(t *testing.T, e expectation) omptest.Run {
	t.Helper()
	b := omptest.Build{Program: e.program, Flags: []string{"-g"}, Release: l.release}
	if e.bare {
		b.Flags[0] = "-g0"
	}
	if e.standard != "" {
		b.Flags = append(b.Flags, "-std="+e.standard)
	}
	if l.watched != "" {
		if l.family != "libgomp" {
			omptest.NeedsMore(t, "clang's sanitizers (libclang-rt-16-dev)")
		}
		b.Flags = append(b.Flags, "-fsanitize="+l.watched)
	}
	b.Flags = append(strings.Fields("-"+l.build), b.Flags...)
	if l.family == "libgomp" {
		b.Compiler = omptest.GCC
	}
	return omptest.Run{
		Exe: omptest.Compile(t, b), Runtime: l.runtime(t), Args: e.args, Mode: l.mode,
		Env: append([]string{"OMPD_OTHER=" + l.other(t).Lib}, e.env...),
	}
}

// look builds and runs a program in the lane and returns what diagnose is to look
// at.
func (l lane) look(t *testing.T, e expectation) string {
	t.Helper()
	r := l.run(t, e)
	switch {
	case e.crash:
		r.Mode = omptest.Kernel
	case l.mode == omptest.Live:
		return strconv.Itoa(omptest.Start(t, r).PID)
	}
	return omptest.Dump(t, r).Core
}

// TestVerdicts asserts the exact verdict on a program for each, and silence on
// programs that look alike and are healthy.
func TestVerdicts(t *testing.T) {
	for _, l := range lanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			l.verdicts(t, expectations())
		})
	}
}

// verdicts asserts the verdicts on programs that run in the lane.
func (l lane) verdicts(t *testing.T, es []expectation) {
	t.Helper()
	for _, e := range es {
		if !l.runs(e) || e.crash && l.mode == omptest.Live || l.family == "libgomp" && l.release != 0 && !inC(t, e) {
			continue
		}
		name := strings.Join(slices.Concat([]string{e.program}, e.args, e.env,
			map[bool][]string{true: {"bare"}}[e.bare]), "-")
		if !l.turn(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e.check(t, l, l.look(t, e))
		})
	}
}

// inC reports whether a program is in C.
func inC(t *testing.T, e expectation) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(omptest.Programs(t), e.program+".c"))
	return err == nil
}

// verdictsOf are the picture that diagnose prints as JSON, with the verdicts, and
// its exit status.
func verdictsOf(t testing.TB, target string, flags ...string) (int, *picture.Picture) {
	t.Helper()
	status, out, errs := output(t, slices.Concat([]string{"diagnose", "--json"}, flags, []string{target})...)
	if status != cli.ExitOK && status != cli.ExitFound {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	return status, decode(t, out)
}

// faults are the verdicts that say that something is wrong, without those on what
// follows from it, or on more threads than processors: the machine may be small. That
// the program called abort to leave a core is none.
func (e expectation) faults(vs []picture.Verdict) []picture.Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v picture.Verdict) bool {
		return v.Severity == picture.SeverityInfo || strings.Contains(v.Summary, " called abort in truth_end") ||
			v.Kind != e.kind && (v.Kind == picture.VerdictBarrierMissing || v.Kind == picture.VerdictOversubscribed)
	})
}

func (e expectation) check(t *testing.T, l lane, target string) {
	t.Helper()
	status, pic := verdictsOf(t, target)
	e.judge(t, l, status, pic, target)
}

// judge holds the verdicts of a picture, and the exit status of diagnose, against
// what is expected.
func (e expectation) judge(t *testing.T, l lane, status int, pic *picture.Picture, target string) {
	t.Helper()
	for _, th := range pic.Threads {
		if s := th.State; s != nil && s.Standard != "" && strings.Contains(s.Evidence, "user code") {
			t.Errorf("LWP %d: %s because %s", th.LWP, s.Name, s.Evidence)
		}
	}
	found := e.faults(pic.Verdicts)
	if e.info {
		if len(found) > 0 || status != cli.ExitOK {
			t.Errorf("exit status %d and %+v, want information only", status, found)
		}
		found = slices.DeleteFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Kind != e.kind })
	}
	if e.kind == "" {
		if len(found) > 0 || status != cli.ExitOK {
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
	if e.behind != 0 && len(v.Behind) != e.behind {
		t.Errorf("LWPs %v are stuck behind it, want %d\ntarget %s\n%v", v.Behind, e.behind, target, v.Evidence)
	}
	if want := map[bool]int{true: cli.ExitFound, false: cli.ExitOK}[diagnose.Hangs(v)]; status != want {
		t.Errorf("exit status %d, want %d", status, want)
	}
	var waits []string
	for _, s := range v.Cycle {
		name := threadNumber.ReplaceAllString(s.WaitsFor.Name, "")
		waits = append(waits, strings.TrimSpace(string(s.WaitsFor.Kind)+" "+name))
	}
	if slices.Sort(waits); !slices.Equal(waits, e.waits) {
		t.Errorf("the threads wait for %q, want %q", waits, e.waits)
	}
	e.checkText(t, l, pic)
}

// threadNumber ends the name of what is waited for that is a thread.
var threadNumber = regexp.MustCompile(`(^| )\d+$`)

// checkText looks for the words that people must read.
func (e expectation) checkText(t *testing.T, l lane, pic *picture.Picture) {
	t.Helper()
	var b bytes.Buffer
	text.Verdicts(text.New(&b, false, text.NoLimit), pic)
	for _, s := range slices.Concat(e.says, map[string][]string{"libomp": e.llvm, "libgomp": e.gcc}[l.family]) {
		if !strings.Contains(b.String(), s) {
			t.Errorf("the text does not say %q:\n%s", s, b.String())
		}
	}
}

// TestLockNames holds what threads wait for in the table of threads against what the
// verdict says.
func TestLockNames(t *testing.T) {
	for _, l := range lanes() {
		if l.build != "O1" {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			for _, e := range []expectation{{program: "verdict_lock_names", args: []string{"1"}},
				{program: "verdict_critical_cycle"}, {program: "verdict_atomic"}} {
				status, out, errs := output(t, "--json", l.look(t, e))
				if status != cli.ExitOK {
					t.Fatalf("exit status %d: %s", status, errs)
				}
				pic, names := decode(t, out), map[int]string{}
				for _, th := range pic.Threads {
					names[th.LWP] = th.WaitName
				}
				if len(pic.Verdicts) == 0 {
					t.Fatalf("%s: no verdict", e.program)
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

// TestNoFalseVerdicts holds all programs of the matrix, which wait for many things
// and hang for none, but for one.
func TestNoFalseVerdicts(t *testing.T) {
	for _, major := range []int{14, 15, 16, 19} {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			t.Parallel()
			for _, s := range situations {
				if s.program == "lock_cycle" || !(variant{name: "kernel"}).turn(major, s.program) {
					continue
				}
				t.Run(s.program, func(t *testing.T) {
					run := omptest.Run{
						Exe:     omptest.Compile(t, omptest.Build{Program: s.program}),
						Runtime: omptest.RuntimeOf(t, major),
						Args:    s.args, Mode: omptest.Kernel,
					}
					if s.segv {
						run.Mode = omptest.Segv
					}
					status, pic := verdictsOf(t, omptest.Dump(t, run).Core)
					for _, v := range pic.Verdicts {
						if v.Severity == picture.SeverityHang {
							t.Errorf("%s: %s", v.Kind, v.Summary)
						}
					}
					if status != cli.ExitOK {
						t.Errorf("exit status %d", status)
					}
				})
			}
		})
	}
}

// TestNoStacks looks at a core whose threads have no stacks: gdb cannot read those
// of a newer C library. Nothing is concluded from what is not there.
func TestNoStacks(t *testing.T) {
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
		status, out, errs := output(t, "diagnose", "--json", r.Core)
		pic := decode(t, out)
		found := (expectation{}).faults(pic.Verdicts)
		if status != cli.ExitError || len(found) > 0 || !strings.Contains(errs, "could not be read") {
			t.Errorf("%s: exit status %d, %q and %+v, want no verdict, and why", c.program, status, errs, found)
		}
		if i := slices.IndexFunc(pic.Verdicts, func(v picture.Verdict) bool { return len(v.Missing) > 0 }); i >= 0 {
			t.Errorf("%s: %s", c.program, pic.Verdicts[i].Summary)
		}
		unreadable(t, r.Core, "its stack and thread-local data are not in the core")
		if !slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "reads as zeros") }) {
			t.Errorf("warnings %q do not tell that stacks are missing", pic.Warnings)
		}
	}
}
