package locate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// rowed lists the releases with a runtime in Debian and a row in the table, except for the oldest, which has no
// older neighbour.
var rowed = []int{11, 13, 14, 15, 16, 17, 18, 19, 23}

// TestRowIsGone locates the fields of each release without its row: none may be wrong, and few unknown.
func TestRowIsGone(t *testing.T) {
	for _, major := range rowed {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, major))
			loc, err := Locate(c, mod, layout.Options{Without: []string{strconv.Itoa(major)}})
			if err != nil {
				t.Fatal(err)
			}
			r := rowOf(t, major)
			type count struct{ right, open int }
			counts, all := map[string]count{}, count{}
			for _, e := range loc.Report.All() {
				n, want := counts[e.Type], r.field(e.Type, e.Name)
				switch {
				case e.Type == "" || e.Err != nil && !want.IsKnown():
					continue
				case e.Err != nil:
					n.open++
					all.open++
				case e.Field != want:
					t.Errorf("%s is %v by %s, want %v", e, e.Field, e.Source, want)
				default:
					n.right++
					all.right++
				}
				counts[e.Type] = n
			}
			var text []string
			for _, typ := range slices.Sorted(maps.Keys(counts)) {
				text = append(text, fmt.Sprintf("%s %d/%d", typ, counts[typ].right, counts[typ].right+counts[typ].open))
			}
			t.Logf("right %d, open %d: %v", all.right, all.open, text)
			if all.open*12 > all.right { // for 11, which does not describe itself, 21 of 306
				t.Errorf("%d of %d names are open", all.open, all.right+all.open)
			}
		})
	}
}
