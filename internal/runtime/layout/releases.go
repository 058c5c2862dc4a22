package layout

import (
	"fmt"
	"strconv"
)

// Releases is a range of releases of a runtime, both ends included. High 0 is open; the zero
// Releases are all.
type Releases struct{ Low, High int }

// Intersect returns the overlap of two ranges, or r if it is empty.
func (r Releases) Intersect(o Releases) Releases {
	if !r.Overlaps(o) {
		return r
	}
	both := Releases{max(r.Low, o.Low), min(r.High, o.High)}
	if r.High == 0 || o.High == 0 {
		both.High = max(r.High, o.High)
	}
	return both
}

// Overlaps reports whether two ranges have a release in common.
func (r Releases) Overlaps(o Releases) bool {
	return (r.High == 0 || o.Low <= r.High) && (o.High == 0 || r.Low <= o.High)
}

// String returns "16", "14-15", "22 or newer", "14 or older", or "" for any.
func (r Releases) String() string {
	switch {
	case r.High == 0 && r.Low == 0:
		return ""
	case r.High == 0:
		return fmt.Sprintf("%d or newer", r.Low)
	case r.Low == 0:
		return fmt.Sprintf("%d or older", r.High)
	case r.Low == r.High:
		return strconv.Itoa(r.Low)
	}
	return fmt.Sprintf("%d-%d", r.Low, r.High)
}
