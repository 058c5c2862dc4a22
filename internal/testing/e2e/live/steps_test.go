package live

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestRegionOfCallback looks at a region that is forked by the last call of a function, which was called through a
// pointer: with GCC -O2 that function has no frame, and no call shows the region's function. The workers show it, also
// when the thread that forked the region waits at its end.
func TestRegionOfCallback(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "steps.c"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := bytes.Cut(source, []byte("// HERE"))
	line := bytes.Count(before, []byte("\n")) + 1
	for _, compiler := range []string{"gcc", "clang-16"} {
		for _, flags := range []string{"-O0", "-O2"} {
			t.Run(compiler+flags, func(t *testing.T) {
				pid := ready(t, "steps", compiler, flags)
				var pic *picture.Picture
				const looks = 1000
				for n := 0; ; n++ {
					if pic = lookAt(t, pid); len(pic.Facts.Waits) == 3 {
						break // one in pause, two at the end of the region
					}
					if n == looks {
						t.Fatalf("after %d looks: %+v", n, pic.Facts.Waits)
					}
				}
				checkCallback(t, pic, line)
			})
		}
	}
}

// checkCallback checks the place of the region at a line of steps.c, and that each member's stack leads to main.
func checkCallback(t *testing.T, pic *picture.Picture, line int) {
	t.Helper()
	found := false
	for _, r := range pic.Regions {
		if r.Level == 0 {
			continue
		}
		found = true
		if r.Function == nil || filepath.Base(r.Function.File) != "steps.c" || r.Function.Line != line ||
			!strings.Contains(r.Function.Name, "advance") && !strings.Contains(r.Function.Name, "outlined") {
			t.Errorf("region of %+v, want advance at steps.c:%d", r.Function, line)
		}
	}
	if !found {
		t.Errorf("no parallel region: %+v", pic.Regions)
	}
	for _, th := range pic.Threads {
		if len(th.Errors) > 0 {
			t.Errorf("LWP %d: %+v", th.LWP, th.Errors)
		}
		if n := len(th.UserStack); n == 0 || th.UserStack[n-1].Function != "main" {
			t.Errorf("LWP %d: %+v does not lead to main", th.LWP, th.UserStack)
		}
	}
}
