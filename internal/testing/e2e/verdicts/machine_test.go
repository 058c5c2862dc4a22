package verdicts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMachineVerdicts requires the verdicts of TestVerdicts on processes and cores in a machine for aarch64.
func TestMachineVerdicts(t *testing.T) {
	lanes := e2e.MachineLanes(t, omptest.Option("lanes"))
	programs, err := regexp.Compile(omptest.Option("programs"))
	if err != nil {
		t.Fatal(err)
	}
	m := omptest.StartMachine(t, e2e.MachineOptions(t))
	for _, l := range lanes {
		t.Run(l.String(), func(t *testing.T) {
			record := omptest.RecordPrograms(t, omptest.SupportPart{Runtime: l.Family, Release: l.Major(),
				Arch: "aarch64", Target: "verdicts", Build: l.String()})
			partly := map[string]bool{} // programs without some of their cases
			choose := func(program, name string) bool {
				partly[program] = partly[program] || !programs.MatchString(name)
				return programs.MatchString(name)
			}
			count := func(t *testing.T, program string) { // of a parallel test: all programs are chosen before
				if !partly[program] {
					record(t, program)
				}
			}
			for _, e := range expectations() {
				if e.holdsIn(l.Lane) && inC(t, e) && choose(e.program, e.caseName()) {
					t.Run(e.caseName(), func(t *testing.T) {
						t.Parallel()
						defer count(t, e.program)
						e.judgeInMachine(t, m, l)
					})
				}
			}
			if l.Stripped() {
				return
			}
			for _, c := range slices.Concat(fibers(), smallTeams(), queuedTaskSpins(), localSpins(), dependentTasks(),
				discardedTasks(), waitersOfNoTeam(), hangsInStack()) {
				if strings.Contains(l.String(), c.only) && choose(c.program, caseName(c.program, c.args)) {
					c.judgeInMachine(t, m, l, count)
				}
			}
			for _, c := range slices.Concat(deadVariables(), overlaidVariables(), crashesInStack()) {
				if choose(c.program, c.name()) {
					t.Run(c.name(), func(t *testing.T) {
						t.Parallel()
						defer count(t, c.program)
						c.judgeInMachine(t, m, l)
					})
				}
			}
		})
	}
}

// judgeInMachine looks at a program that hangs and at its healthy twin, and at cores of both. In cores, only the
// verdict is compared, not its text: some lack the names of variables on other stacks.
func (c hangCase) judgeInMachine(t *testing.T, m *omptest.Machine, l e2e.MachineLane,
	count func(*testing.T, string)) {
	// The text on fibers depends on the tail calls of a build, and with -O1 a variable on another stack may have no
	// name.
	if c.program == "verdict_fiber" || l.Build == "O1" {
		c.has, c.lacks = nil, nil
	}
	for _, twin := range []bool{false, true} {
		args, name := c.args, c.program+"-"+c.name
		if twin {
			args, name = append(slices.Clone(args), "1"), name+"_healthy"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer count(t, c.program)
			look := l.InMachine(t, m, e2e.Program{Name: c.program, Args: args, Env: c.env},
				[]string{"diagnose", "--json", e2e.MachineBudget})
			t.Run("process", func(t *testing.T) {
				kinds, words := hangsIn(e2e.LiveReport(t, look.Answers[0]))
				c.judge(t, kinds, words, twin)
			})
			for _, core := range look.Cores() {
				t.Run(filepath.Base(core), func(t *testing.T) {
					_, pic := e2e.Diagnose(t, core, e2e.MachineFlags(m, look)...)
					kinds, words := hangsIn(pic)
					hangCase{kind: c.kind}.judge(t, kinds, words, twin || c.handled)
					if c.handled && !twin && !slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool {
						return v.Kind == c.kind
					}) {
						t.Errorf("no %s:\n%s", c.kind, words)
					}
				})
			}
		})
	}
}

// judgeInMachine compares the verdicts on a process and on its core with the expectation.
func (e expectation) judgeInMachine(t *testing.T, m *omptest.Machine, l e2e.MachineLane) {
	t.Helper()
	if l.Static && e.certainty == picture.Certain {
		e.certainty = "" // the C library in the executable calls functions through pointers
	}
	if l.Stripped() {
		e = e.withoutNames()
	}
	var looks [][]string
	if !e.crash {
		looks = [][]string{{"diagnose", "--json", e2e.MachineBudget}}
	}
	look := l.InMachine(t, m, e.inLane(), looks...)
	if !e.crash {
		t.Run("process", func(t *testing.T) {
			a := look.Answers[0]
			status, err := strconv.Atoi(a.Status)
			if err != nil {
				t.Fatal(err)
			}
			pic := e2e.LiveReport(t, a)
			e.ignoreBinding(pic)
			defer func() {
				if t.Failed() {
					t.Logf("%s\n%q\n%+v", a.Errs, pic.Warnings, pic.Threads)
				}
			}()
			e.judge(t, l.Lane, status, pic, "a process")
		})
	}
	for _, core := range look.Cores() {
		t.Run(filepath.Base(core), func(t *testing.T) {
			status, pic := e2e.Diagnose(t, core, e2e.MachineFlags(m, look)...)
			e.ignoreBinding(pic)
			defer func() {
				if t.Failed() {
					t.Logf("%q", pic.Warnings)
				}
			}()
			e.judge(t, l.Lane, status, pic, filepath.Base(core))
		})
	}
}

// ignoreBinding removes the verdict on a region of one thread in a forked child: LLVM's runtime for aarch64 binds the
// child to one processor when it starts there.
func (e expectation) ignoreBinding(pic *picture.Picture) {
	if e.program == "verdict_forked" {
		pic.Verdicts = slices.DeleteFunc(pic.Verdicts, func(v picture.Verdict) bool {
			return v.Kind == picture.VerdictOneThread
		})
	}
}

// withoutNames returns the expectation for a program without symbols and debug information: the same threads, and
// kinds of waits in place of names.
func (e expectation) withoutNames() expectation {
	e.says, e.llvm, e.gcc = nil, nil, nil
	e.waits = slices.Clone(e.waits)
	for i, wait := range e.waits {
		e.waits[i], _, _ = strings.Cut(wait, " ")
	}
	return e
}
