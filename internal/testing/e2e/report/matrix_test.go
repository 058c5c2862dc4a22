package report

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// variant is one way to build, run and dump a program.
type variant struct {
	name   string
	build  omptest.Build
	env    []string
	mode   omptest.Mode
	lines  bool // the executable has debug information
	majors []int
}

func variants(t *testing.T) []variant {
	all := []int{14, 15, 16, 19}
	others := omptest.Today(t, []int{13, 17, 18, 23})
	some := func(majors ...int) []int {
		if omptest.Full() {
			return all
		}
		return majors
	}
	return []variant{
		{name: "kernel", mode: omptest.Kernel, lines: true, majors: all},
		{name: "others", mode: omptest.Kernel, lines: true, majors: others},
		{name: "tracked", mode: omptest.Kernel, lines: true, env: []string{"OMP_DEBUG=enabled"},
			majors: some(14, 16, 19)},
		{name: "gcore", mode: omptest.Gcore, lines: true, majors: some(16)},
		{name: "stripped", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O2"}, Strip: true},
			majors: some(16, 19)},
		{name: "O0", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O0", "-g"}}, lines: true,
			majors: some(14)},
		{name: "O3", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O3", "-g"}}, lines: true,
			majors: some(19)},
		{name: "no-pie", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O2", "-g", "-no-pie"}},
			lines: true, majors: some(15)},
	}
}

// TestReportMatrix compares the picture of real cores with the results of omp_get_* in the programs' own threads.
func TestReportMatrix(t *testing.T) {
	for _, v := range variants(t) {
		for _, major := range v.majors {
			t.Run(fmt.Sprintf("%s/libomp-%d", v.name, major), func(t *testing.T) {
				t.Parallel()
				row := omptest.SupportPart{Runtime: "libomp", Release: major, Target: "core", Build: v.name}
				if v.build.Strip {
					row.Target += ", stripped"
				}
				count := omptest.RecordSupport(t, row)
				for _, s := range e2e.Situations {
					if s.Debug && !v.lines || !e2e.SituationTurn(v.name, major, s.Program) {
						continue
					}
					t.Run(s.Program, func(t *testing.T) {
						defer count(t)
						b := v.build
						b.Program = s.Program
						run := omptest.Run{
							Exe: omptest.Compile(t, b), Runtime: omptest.RuntimeOf(t, major),
							Args: s.Args, Env: v.env, Mode: v.mode,
						}
						if s.Segv && run.Mode == omptest.Kernel {
							run.Mode = omptest.Segv
						}
						r := omptest.Dump(t, run)
						e2e.CheckPicture(t, e2e.Report(t, r.Core), r, v.lines)
					})
				}
			})
		}
	}
}

// TestOldReleases compares the pictures of a few programs on the oldest releases with the results of omp_get_* in
// their threads.
func TestOldReleases(t *testing.T) {
	omptest.NeedsMore(t, "runtimes of other releases")
	for _, major := range []int{9, 11, 13} {
		for _, strip := range []bool{false, true} {
			name, row := fmt.Sprintf("libomp-%d", major), omptest.SupportPart{Runtime: "libomp", Release: major,
				Target: "core", Build: "few"}
			if strip {
				name, row.Target = name+"-stripped", row.Target+", stripped"
			}
			t.Run(name, func(t *testing.T) {
				count := omptest.RecordSupport(t, row)
				for _, program := range []string{"barrier", "critical", "lock_cycle", "nested", "taskwait"} {
					t.Run(program, func(t *testing.T) {
						defer count(t)
						r := omptest.Dump(t, omptest.Run{
							Exe:     omptest.Compile(t, omptest.Build{Program: program, Strip: strip}),
							Runtime: omptest.RuntimeOf(t, major), Mode: omptest.Kernel})
						e2e.CheckPicture(t, e2e.Report(t, r.Core), r, !strip)
					})
				}
			})
		}
	}
}
