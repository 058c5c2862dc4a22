package web_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rgb is a color: red, green and blue from 0 to 1.
type rgb [3]float64

// luminance returns the relative luminance of a color, by the Web Content Accessibility Guidelines (WCAG 2).
func (c rgb) luminance() float64 {
	var v rgb
	for i, x := range c {
		if v[i] = x / 12.92; x > 0.04045 {
			v[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2]
}

// blendOver returns the color, drawn with some opacity over another one.
func (c rgb) blendOver(behind rgb, opacity float64) (out rgb) {
	for i := range c {
		out[i] = c[i]*opacity + behind[i]*(1-opacity)
	}
	return out
}

// contrast returns the contrast ratio of two colors, from 1 to 21.
func contrast(a, b rgb) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// palettes returns the colors of the page by name: light, dark by the reader's settings, and dark by choice.
func palettes(t *testing.T) (out [3]map[string]rgb, css string) {
	t.Helper()
	text, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s):root[^{]*\{[^}]*--bg:[^}]*\}`).FindAllString(string(text), -1)
	if len(blocks) != len(out) {
		t.Fatalf("%d palettes, want %d", len(blocks), len(out))
	}
	for i, block := range blocks {
		out[i] = map[string]rgb{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6})`).FindAllStringSubmatch(block, -1) {
			v, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			out[i][m[1]] = rgb{float64(v>>16) / 255, float64(v>>8&255) / 255, float64(v&255) / 255}
		}
	}
	return out, string(text)
}

// TestContrast checks the contrast of the page's text with its background (4.5 to 1), and of the lines of its
// drawings (3 to 1), in light and dark.
func TestContrast(t *testing.T) {
	const text, line = 4.5, 3
	all, css := palettes(t)
	if fmt.Sprint(all[1]) != fmt.Sprint(all[2]) {
		t.Error("dark by the reader's settings and dark by choice differ")
	}
	_, detail, _ := strings.Cut(css, "svg .d { font-size: 11px; fill-opacity: ")
	detail, _, _ = strings.Cut(detail, ";")
	opacity, err := strconv.ParseFloat(detail, 64)
	if err != nil {
		t.Fatal(err)
	}
	states := []string{"work", "lock", "barrier", "task", "wait", "idle", "unknown", "left"}
	for i, colors := range all {
		for on, inks := range map[string]string{
			"bg": "ink soft bad warn good link", "panel": "ink soft bad warn good link", "mark": "ink soft",
		} {
			for ink := range strings.FieldsSeq(inks) {
				if c := contrast(colors[ink], colors[on]); c < text {
					t.Errorf("palette %d: %s on %s has %.2f", i, ink, on, c)
				}
			}
		}
		for _, state := range states {
			c := contrast(colors["ink"].blendOver(colors[state], opacity), colors[state])
			if c < text {
				t.Errorf("palette %d: the second line of a box on %s has %.2f", i, state, c)
			}
		}
		for _, edge := range []string{"edge", "bad", "link"} {
			if c := contrast(colors[edge], colors["panel"]); c < line {
				t.Errorf("palette %d: lines of %s have %.2f", i, edge, c)
			}
		}
	}
}
