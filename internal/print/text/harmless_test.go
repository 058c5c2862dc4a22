package text

import (
	"bytes"
	"strings"
	"testing"
)

// TestHarmless prints names that contain control sequences, or are very long.
func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"solve(double*) größer …":          "solve(double*) größer …",
		"\x1b]0;title\x07\x1b[2J":          `\x1b]0;title\a\x1b[2J`,
		"\x1b[" + strings.Repeat("x", 200): `\x1b[` + strings.Repeat("x", MinWidth-6) + "…",
		"a\nCRASH  nothing":                `a\nCRASH  nothing`,
		"\u202eelif \u009b2J":              `\u202eelif \u009b2J`,
		"\xff\xfe":                         `\xff\xfe`,
		"\x1b[8mhidden\x1b[0m":             `\x1b[8mhidden\x1b[0m`,
	} {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			p := New(&out, color, MinWidth)
			p.printLine(in)
			got := strings.TrimSuffix(strings.TrimSuffix(out.String(), "\n"), ansiReset)
			if wanted := strings.TrimSuffix(want, `\x1b[0m`); color && wanted != want { // the printer's own
				if got != wanted {
					t.Errorf("%q in color: %q, want %q", in, got, wanted)
				}
			} else if got != want {
				t.Errorf("%q, color %v: %q, want %q", in, color, got, want)
			}
		}
	}
	var out bytes.Buffer
	p := New(&out, true, NoLimit)
	p.printLine(p.bold("CRASH") + " " + p.cyan("\x1b[1mf"))
	if want := ansiBold + "CRASH" + ansiReset + " " + ansiCyan + ansiBold + "f" + ansiReset +
		"\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
