package dap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
)

// TestUndone adds elements to lists, and changes and adds members of objects. When the additions are removed,
// the text is the same as before, byte for byte.
func TestUndone(t *testing.T) {
	const rounds = 500
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		blank := func() string { return strings.Repeat(" ", r.IntN(2)) + strings.Repeat("\n\t", r.IntN(2)) }
		var theirs []string
		for i := range r.IntN(5) {
			const odd = `%s{"id":%s%d,"x":[1.50 , "\u00e9]"],"name" :"n%d" }%s`
			theirs = append(theirs, fmt.Sprintf(odd, blank(), blank(), i, i, blank()))
		}
		inner := strings.Join(theirs, ",") + blank()
		text := []byte(blank() + `{ "a":1e3,"list":[` + inner + `],"total" :3}` + blank())
		at, ok := findValue(text, "list")
		if !ok {
			t.Fatalf("%s", text)
		}
		list := findItems(text, at)
		var shown []element
		for _, e := range receivedElements(text, list) {
			for r.IntN(2) == 0 {
				shown = append(shown, addition(map[string]any{"id": ownIDs + 1, "y": []int{1}}))
			}
			if name, ok := findMembers(e.text, span{0, len(e.text)})["name"]; ok && r.IntN(2) == 0 {
				e.text = applyEdits(e.text, []edit{replaceValue(e.text, name, "name", "OMP")})
			}
			shown = append(shown, e)
		}
		for r.IntN(2) == 0 {
			shown = append(shown, addition(map[string]any{"variablesReference": ownIDs + 2}))
		}
		edits := []edit{replaceList(text, at, list, shown)}
		total, _ := findValue(text, "total")
		object := span{strings.Index(string(text), "{"), len(text)}
		edits = append(edits, replaceValue(text, total, "total", 7))
		edits = append(edits, addMembers(text, object, newMember("more", true)))
		out := applyEdits(text, edits)
		if back := daptest.Undone(out, ownIDs); string(back) != string(text) {
			t.Fatalf("seed %d:\n%q is shown as\n%q and undone\n%q", seed, text, out, back)
		}
	}
}

// TestPlace parses places of constructs, and compares them with lines of files.
func TestPlace(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		"solve.c:31": {"/src/solve.c:31": true, "/src/solve.c:32": false, "/src/resolve.c:31": false, ":31": false},
		"src/solve.c:31": {
			"/a/src/solve.c:31": true, "/a/b/solve.c:31": false, "solve.c:31": false, "src/solve.c:31": true,
		},
		"/a/b.c:1": {"/a/b.c:1": true, "/x/a/b.c:1": false},
		"C:x.c:7":  {"C:x.c:7": true},
	} {
		p, err := parsePlace("parallel begin", text)
		if err != nil {
			t.Fatal(err)
		}
		for where, is := range want {
			i := strings.LastIndexByte(where, ':')
			var line int
			fmt.Sscan(where[i+1:], &line)
			if p.matches(where[:i], line) != is {
				t.Errorf("%s at %s: want %t", text, where, is)
			}
		}
	}
	for _, wrong := range []string{"", "solve.c", ":3", "solve.c:", "solve.c:x", "solve.c:0", "solve.c:-4"} {
		if _, err := parsePlace("task end", wrong); err == nil {
			t.Errorf("%q is accepted as a place", wrong)
		}
	}
}
