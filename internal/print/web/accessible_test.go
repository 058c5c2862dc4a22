package web_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
)

// TestBrowserAccessible checks the page for screen readers: landmarks, headings without gaps, names of all
// visible and usable elements, drawings in words. The keyboard must reach all usable elements, in the page's
// order.
func TestBrowserAccessible(t *testing.T) {
	for name, want := range map[string][]string{
		"llvm-deadlock": {
			"image: Who waits for whom an arrow leads to what must make progress first",
			"image: 3 members; waits for a lock: 2, waits for something else: 1",
			"columnheader: Waits on, holds", "table: Threads 3",
		},
		"llvm-tasks-deps": {"region: Tasks 7; those that are alike are one", "heading: CRASH certain"},
		"gnu-deadlock": {
			"image: What the threads did the last 4 s before the newest event, which was 12 s ago",
			"region: What the threads did the last 4 s before the newest event, which was 12 s ago",
		},
		"llvm-nested": {"region: Regions", "image: 3 members; at work: 1, at a barrier: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page.html")
			page := draw(t, timed(golden(t, name), 30), web.Options{})
			if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			d := inspected(t, file)
			d.eval(`document.getElementById("open").click(), ""`)
			checkReader(t, d.accessibility(), want)
			checkKeyboard(t, d)
		})
	}
}

// checkReader compares the elements for a screen reader with the expected ones.
func checkReader(t *testing.T, nodes []accessible, want []string) {
	t.Helper()
	named := []string{
		"image", "button", "link", "searchbox", "region", "navigation", "table", "columnheader", "heading",
		"DisclosureTriangle",
	}
	told, level := map[string]int{}, 0.0
	for _, n := range nodes {
		role, name := n.Role.Value, strings.Join(strings.Fields(n.Name.Value), " ")
		told[role]++
		if slices.Contains(named, role) {
			told[role+": "+name]++
		}
		if slices.Contains(named, role) && name == "" {
			t.Errorf("a %s has no name: %+v", role, n)
		}
		if role == "heading" {
			next, _ := n.property("level").(float64)
			if next < 1 || next > level+1 {
				t.Errorf("heading %q of level %v comes after one of level %v", name, next, level)
			}
			level = next
		}
		described := strings.HasPrefix(name, "Who waits") || strings.HasPrefix(name, "What the threads did")
		if role == "image" && described && n.Description.Value == "" {
			t.Errorf("%s: it is not described in words", name)
		}
	}
	want = append([]string{
		"navigation: Parts of the report", "searchbox: Search in the report", "button: Open all", "button: Fold all",
		"link: To the report",
	}, want...)
	for _, w := range want {
		if told[w] == 0 {
			t.Errorf("no %q: %v", w, told)
		}
	}
	for _, landmark := range []string{"banner", "main", "contentinfo", "navigation"} {
		if told[landmark] != 1 {
			t.Errorf("%d landmarks of the kind %s", told[landmark], landmark)
		}
	}
}

// checkKeyboard visits all elements that take the focus.
func checkKeyboard(t *testing.T, d *devtools) {
	t.Helper()
	const order = `[...document.querySelectorAll("a[href], input, button, summary")]` +
		`.filter((e) => !e.closest("[hidden]"))`
	const name = `((e) => (e.getAttribute("aria-label") || e.textContent).trim().slice(0, 60))`
	want := strings.Split(d.eval(order+`.map(`+name+`).join("\n")`), "\n")
	d.eval(`document.activeElement.blur(), window.scrollTo(0, 0), ""`)
	var reached []string
	for range 4 * len(want) {
		d.tab()
		here := d.eval(`document.activeElement === document.body ? "" : ` +
			`document.activeElement.matches("a, input, button, summary") ? ` + name + `(document.activeElement) : "-"`)
		if here == "" {
			break
		}
		if here != "-" { // scrolling elements take the focus, too
			reached = append(reached, here)
		}
		if len(reached) == len(want) {
			break
		}
	}
	if !slices.Equal(reached, want) || len(want) < 8 {
		t.Errorf("the keyboard reaches\n%q, want\n%q", reached, want)
	}
	if want[0] != "To the report" {
		t.Errorf("the first is %q", want[0])
	}
}
