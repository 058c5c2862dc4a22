package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestNamesOfTeams checks the constructs on the stacks of threads in leagues: each is one frame, and a teams construct
// is no parallel region, although clang names the functions of both alike.
func TestNamesOfTeams(t *testing.T) {
	const program = "teams_names"
	for _, c := range []struct {
		compiler omptest.Compiler
		release  int
	}{{release: 14}, {}, {release: 19}, {compiler: omptest.GCC}} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(fmt.Sprint(c.compiler, c.release, level), func(t *testing.T) {
				b := omptest.Build{Program: program, Compiler: c.compiler, Release: c.release,
					Flags: []string{level, "-g"}}
				run := omptest.Run{Exe: omptest.Compile(t, b), Mode: omptest.Live}
				switch {
				case c.compiler == omptest.GCC:
					run.Runtime = omptest.Libgomp(t)
				case c.release != 0:
					run.Runtime = omptest.RuntimeOf(t, c.release)
				default:
					run.Runtime = omptest.RuntimeOf(t, 16)
				}
				teamsNames(t, run)
			})
		}
	}
}

func teamsNames(t *testing.T, run omptest.Run) {
	for way, c := range []struct {
		function, constructs string
	}{
		{"alone", "teams"}, {"distributed", "teams"}, {"combined", "parallel teams"}, {"nested", "parallel teams"},
		{"nested", "parallel teams"}, {"tasks", "task parallel teams"}, {"parallel", "parallel"},
	} {
		want := c.constructs
		if way == 2 && strings.Contains(run.Runtime.Name, "gomp") {
			want = "parallel" // GCC's code of the target region has that of teams
		}
		run.Args = []string{strconv.Itoa(way)}
		p := omptest.Start(t, run)
		found := 0
		for _, th := range e2e.ReportProcess(t, p.PID).Threads {
			i := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Function == "stay" })
			if i < 0 {
				continue
			}
			found++
			var constructs []string
			for _, f := range th.UserStack[i:] {
				if f.Construct == "" || f.Construct == "target" {
					continue
				}
				constructs = append(constructs, f.Construct)
				if f.In != c.function {
					t.Errorf("%d: a construct of %q, want %q: %+v", way, f.In, c.function, f)
				}
			}
			if got := strings.Join(constructs, " "); got != want {
				t.Errorf("%d: constructs %q, want %q: %+v", way, got, want, th.UserStack)
			}
		}
		if found == 0 {
			t.Errorf("%d: no thread is in stay", way)
		}
		p.Stop()
	}
}
