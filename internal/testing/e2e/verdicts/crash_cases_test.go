package verdicts

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// crashCase is a program that crashes by itself, with its only verdict and the text about its core.
type crashCase struct {
	program    string
	args, env  []string
	kind       picture.VerdictKind
	has, lacks []string
	gcc, llvm  string // words that the text also has for a compiler
}

func (c crashCase) name() string { return caseName(c.program, c.args) }

// checkCrashes looks at cores of programs by two compilers, without and with optimization.
func checkCrashes(t *testing.T, cases []crashCase) {
	t.Helper()
	for _, c := range cases {
		for i, run := range handoverRuns(t, c.program, c.args...) {
			if i%3 == 1 {
				continue
			}
			run.Mode, run.Env = omptest.Kernel, append(run.Env, c.env...)
			t.Run(c.name()+"/"+handoverName(i, run), func(t *testing.T) {
				status, pic := e2e.Diagnose(t, omptest.Dump(t, run).Core)
				c.judge(t, status, pic, []string{c.gcc, "", c.llvm}[i%3])
			})
		}
	}
}

// judge compares the verdict and the text with those of a case.
func (c crashCase) judge(t *testing.T, status int, pic *picture.Picture, compiler string) {
	t.Helper()
	found := (expectation{}).faults(pic.Verdicts)
	if status != cli.ExitCrash || len(found) != 1 || found[0].Kind != c.kind {
		t.Errorf("exit status %d, verdicts %+v, want one %s", status, found, c.kind)
	}
	_, words := hangsIn(pic)
	checkWords(t, words, append(slices.Clone(c.has), compiler), c.lacks)
}

// judgeInMachine looks at the core that a program leaves in a machine. In some builds at -O1, variables have no names.
func (c crashCase) judgeInMachine(t *testing.T, m *omptest.Machine, l e2e.MachineLane) {
	t.Helper()
	look := l.InMachine(t, m, e2e.Program{Name: c.program, Args: c.args, Env: c.env, Crash: true})
	for _, core := range look.Cores() {
		t.Run(filepath.Base(core), func(t *testing.T) {
			status, pic := e2e.Diagnose(t, core, e2e.MachineFlags(m, look)...)
			compiler := map[string]string{"libgomp": c.gcc, "libomp": c.llvm}[l.Family]
			if l.Build == "O1" {
				compiler = ""
			}
			c.judge(t, status, pic, compiler)
		})
	}
}
