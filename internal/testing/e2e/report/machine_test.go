package report

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestMachineReports compares pictures of processes and cores in a machine for aarch64 with the notes of the programs'
// own threads.
func TestMachineReports(t *testing.T) {
	lanes := e2e.MachineLanes(t, omptest.Option("lanes"))
	programs, err := regexp.Compile(omptest.Option("programs"))
	if err != nil {
		t.Fatal(err)
	}
	m := omptest.StartMachine(t, e2e.MachineOptions(t))
	for _, l := range lanes {
		t.Run(l.String(), func(t *testing.T) {
			row := omptest.SupportPart{Runtime: l.Family, Release: l.Major(), Arch: "aarch64", Build: l.String()}
			if l.Static {
				row.Runtime += ".a"
			}
			stripped := ""
			if l.Stripped() {
				stripped = ", stripped"
			}
			row.Target = "core" + stripped
			core := omptest.RecordPrograms(t, row)
			row.Target = "process" + stripped
			process := omptest.RecordPrograms(t, row)
			for _, s := range e2e.Situations {
				if !programs.MatchString(s.Program) ||
					l.Family == "libgomp" && !slices.Contains(e2e.GompSituations(), s.Program) {
					continue
				}
				t.Run(s.Program, func(t *testing.T) {
					t.Parallel()
					lane := l
					if s.Segv {
						lane.Mode = omptest.Segv
					}
					crash := slices.Contains([]string{"crash_task", "crash_before", "crash_forming"}, s.Program)
					if crash && !s.Segv {
						lane.Mode = omptest.Kernel
					}
					var looks [][]string
					if !crash {
						looks = [][]string{{"report", "--json", e2e.MachineBudget}}
					}
					look := lane.InMachine(t, m, e2e.Program{Name: s.Program, Args: s.Args}, looks...)
					if l.Family == "libgomp" {
						e2e.AdaptToGCC(s.Program, &look.Truth)
					}
					lines := !l.Stripped()
					for _, file := range look.Cores() {
						t.Run(filepath.Base(file), func(t *testing.T) {
							if file == look.Core {
								defer core(t, s.Program)
							}
							e2e.CheckPicture(t, e2e.Report(t, file, e2e.MachineFlags(m, look)...), &look.Result, lines)
						})
					}
					if !crash {
						t.Run("process", func(t *testing.T) {
							defer process(t, s.Program)
							e2e.CheckPicture(t, e2e.LiveReport(t, look.Answers[0]), &look.Result, lines)
						})
					}
				})
			}
		})
	}
}
