package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestReportOfLoops compares the report on the loop of loop_kinds, in which each of two threads has got one
// chunk, with the program's truth.
func TestReportOfLoops(t *testing.T) {
	for _, l := range e2e.Lanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for kind, schedule := range map[string]string{"1": "dynamic", "2": "guided", "3": "dynamic"} {
				target := l.Look(t, e2e.Program{Name: "loop_kinds", Args: []string{kind}})
				pic := e2e.Report(t, target)
				for _, th := range pic.Threads {
					if th.Loop == nil {
						t.Errorf("kind %s: LWP %d is in no loop", kind, th.LWP)
						continue
					}
					checkLoopOf(t, l, kind, schedule, *th.Loop)
				}
				if _, out, _ := e2e.Output(t, "threads", target); !strings.Contains(out, "LOOPS") ||
					!strings.Contains(out, schedule) || !strings.Contains(out, "left") {
					t.Errorf("the text does not tell of the loops:\n%s", out)
				}
			}
		})
	}
}

// TestReportOfSections looks at threads in sections: GCC's runtime keeps the same data for them as for a loop,
// and clang's code divides them in advance.
func TestReportOfSections(t *testing.T) {
	for _, l := range e2e.Lanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			pic := e2e.Report(t, l.Look(t, e2e.Program{Name: "loop_kinds", Args: []string{"4"}}))
			for _, th := range pic.Threads {
				got := th.Loop
				switch {
				// A loop and sections share their code.
				case got != nil && l.Family+l.Build == "libgompO2" && got.Schedule == "dynamic or sections":
				case got == nil || got.Schedule != "sections":
					t.Errorf("LWP %d: %+v, want sections", th.LWP, got)
				case l.Family == "libomp" && (got.From == nil || got.To == nil || *got.To != *got.From &&
					*got.To != *got.From+1):
					t.Errorf("LWP %d: %+v, want one or two of three sections", th.LWP, got)
				case l.Family == "libgomp" && (got.Left == nil || *got.Left != 1):
					t.Errorf("LWP %d: %+v, want 1 left", th.LWP, got)
				}
			}
		})
	}
}

func checkLoopOf(t *testing.T, l e2e.Lane, kind, schedule string, got picture.Loop) {
	t.Helper()
	text := func(v *int64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	last, step := "208", "2"
	if l.Family == "libomp" { // clang passes the numbers of iterations to the runtime
		last, step = "99", "1"
	}
	if got.Schedule != schedule || text(got.Last) != last || text(got.Step) != step {
		t.Errorf("kind %s: %+v, last %s, step %s", kind, got, text(got.Last), text(got.Step))
	}
	chunk, left := uint64(5), uint64(90)
	if kind == "2" {
		chunk = 3
	}
	if got.Chunk == nil || *got.Chunk != chunk || got.Left == nil || kind != "2" && *got.Left != left ||
		*got.Left == 0 || *got.Left >= 97 {
		t.Errorf("kind %s: %+v, want a chunk of %d and %d left", kind, got, chunk, left)
	}
	if l.Family != "libomp" {
		return
	}
	if text(got.First) != "0" || got.Iterations == nil || *got.Iterations != 100 || got.Ordered != (kind == "3") {
		t.Errorf("kind %s: %+v, first %s", kind, got, text(got.First))
	}
	if kind != "2" && text(got.From)+".."+text(got.To) != "0..4" && text(got.From)+".."+text(got.To) != "5..9" {
		t.Errorf("the thread has %s to %s", text(got.From), text(got.To))
	}
}
