package waits

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestCommon finds the function that users see as the place of two calls, one or both inlined.
func TestCommon(t *testing.T) {
	at := func(fn string, line int) picture.Frame { return picture.Frame{Function: fn, File: "a.c", Line: line} }
	for name, c := range map[string]struct {
		a, b []picture.Frame
		fn   string
		from int
		to   int
	}{
		"one function": {[]picture.Frame{at("f", 3)}, []picture.Frame{at("f", 7)}, "f", 3, 7},
		"both inlined at once": {[]picture.Frame{at("g", 3), at("f", 20)}, []picture.Frame{at("g", 7), at("f", 20)},
			"g", 3, 7},
		"inlined twice": {[]picture.Frame{at("g", 3), at("f", 20)}, []picture.Frame{at("g", 7), at("f", 30)},
			"f", 20, 30},
		"two functions inlined": {[]picture.Frame{at("take", 3), at("f", 20)},
			[]picture.Frame{at("wait", 7), at("f", 30)}, "f", 20, 30},
		"one is deeper":          {[]picture.Frame{at("f", 20)}, []picture.Frame{at("g", 7), at("f", 30)}, "f", 20, 30},
		"the first is not known": {nil, []picture.Frame{at("g", 7), at("f", 30)}, "f", 0, 30},
	} {
		from, to := commonFunction(c.a, c.b)
		if to.Function != c.fn || from.Line != c.from || to.Line != c.to {
			t.Errorf("%s: %s from %d to %d, want %s from %d to %d", name, to.Function, from.Line, to.Line, c.fn, c.from,
				c.to)
		}
	}
}
