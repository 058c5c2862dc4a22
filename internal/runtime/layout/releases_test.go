package layout

import "testing"

func TestReleases(t *testing.T) {
	for r, want := range map[Releases]string{{}: "", {16, 16}: "16", {14, 15}: "14-15", {22, 0}: "22 or newer",
		{0, 14}: "14 or older"} {
		if r.String() != want {
			t.Errorf("%v is %q, want %q", [2]int{r.Low, r.High}, r, want)
		}
	}
	for _, c := range []struct {
		a, b Releases
		want bool
	}{
		{Releases{}, Releases{16, 16}, true}, {Releases{19, 21}, Releases{19, 0}, true},
		{Releases{16, 18}, Releases{19, 19}, false},
		{Releases{10, 0}, Releases{0, 8}, false}, {Releases{10, 0}, Releases{12, 0}, true},
	} {
		if got, back := c.a.Overlaps(c.b), c.b.Overlaps(c.a); got != c.want || back != c.want {
			t.Errorf("%v overlaps %v: %v, %v", c.a, c.b, got, back)
		}
	}
	for _, c := range [][3]Releases{
		{{}, {16, 16}, {16, 16}}, {{19, 21}, {19, 0}, {19, 21}}, {{22, 0}, {19, 0}, {22, 0}},
		{{16, 18}, {19, 19}, {16, 18}}, {{0, 14}, {14, 14}, {14, 14}}, {{10, 0}, {0, 8}, {10, 0}},
	} {
		if got := c[0].Intersect(c[1]); got != c[2] {
			t.Errorf("%v and %v is %v, want %v", c[0], c[1], got, c[2])
		}
	}
}
