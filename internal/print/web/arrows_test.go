package web_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
)

// rect is a box of the drawing.
type rect struct{ x, y, w, h float64 }

// TestArrowsPassBoxes checks that no arrow of the wait-for graph crosses a box, and that all stay within the
// drawing.
func TestArrowsPassBoxes(t *testing.T) {
	pages := map[string]string{"large": draw(t, large(64, 40), web.Options{})}
	names, err := os.ReadDir("../../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := os.Stat("../../../testdata/golden/" + name.Name() + "/picture.json"); err == nil {
			pages[name.Name()] = draw(t, golden(t, name.Name()), web.Options{})
		}
	}
	arrows := 0
	for name, page := range pages {
		_, page, _ = strings.Cut(page, `id="h-waits"`)
		page, _, _ = strings.Cut(page, "</svg>")
		var width, height float64
		size := regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`).FindStringSubmatch(page)
		if size == nil {
			continue
		}
		_, _ = fmt.Sscan(size[1]+" "+size[2], &width, &height)
		var boxes []rect
		one := regexp.MustCompile(`<rect class="box [^"]*" x="(-?\d+)" y="(-?\d+)" width="(\d+)" height="(\d+)"`)
		for _, m := range one.FindAllStringSubmatch(page, -1) {
			var r rect
			_, _ = fmt.Sscan(strings.Join(m[1:], " "), &r.x, &r.y, &r.w, &r.h)
			boxes = append(boxes, r)
		}
		for _, m := range regexp.MustCompile(`<path class="arrow[^"]*" d="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			arrows++
			for _, at := range sampled(m[1]) {
				for _, b := range boxes {
					if at[0] > b.x && at[0] < b.x+b.w && at[1] > b.y && at[1] < b.y+b.h {
						t.Errorf("%s: the arrow %s passes the box %+v at %v", name, m[1], b, at)
					}
				}
				if at[0] < 0 || at[1] < 0 || at[0] > width || at[1] > height {
					t.Errorf("%s: the arrow %s leaves the drawing of %v by %v", name, m[1], width, height)
				}
			}
		}
	}
	if arrows < 20 {
		t.Errorf("there are %d arrows", arrows)
	}
}

// sampled returns points on an SVG curve: one part, of the second or third order.
func sampled(path string) (out [][2]float64) {
	var n []float64
	for _, s := range regexp.MustCompile(`-?\d+`).FindAllString(path, -1) {
		var v float64
		_, _ = fmt.Sscan(s, &v)
		n = append(n, v)
	}
	if strings.Contains(path, "Q") { // the same as one of the third order
		n = []float64{
			n[0], n[1], n[0] + (n[2]-n[0])*2/3, n[1] + (n[3]-n[1])*2/3,
			n[4] + (n[2]-n[4])*2/3, n[5] + (n[3]-n[5])*2/3, n[4], n[5],
		}
	}
	const steps = 100
	for i := range steps + 1 {
		t := float64(i) / steps
		a, b, c, d := (1-t)*(1-t)*(1-t), 3*t*(1-t)*(1-t), 3*t*t*(1-t), t*t*t
		out = append(out, [2]float64{a*n[0] + b*n[2] + c*n[4] + d*n[6], a*n[1] + b*n[3] + c*n[5] + d*n[7]})
	}
	return out
}
