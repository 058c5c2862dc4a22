package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// openPeer initializes LLVM's library for a core.
func openPeer(t *testing.T, exe string, rt omptest.Runtime, s *server) *peer {
	t.Helper()
	p := &peer{host: startHost(t, exe, omptest.UnstrippedOMPD(t, rt.Major), rt.Dir, s.serve)}
	rc, res := p.call("ompd_get_api_version", out)
	if rc != callbacks.OK {
		t.Fatalf("ompd_get_api_version: %v", rc)
	}
	if rc, _ = p.call("ompd_initialize", callbacks.Word(res[0]), table); rc != callbacks.OK {
		t.Fatalf("ompd_initialize: %v", rc)
	}
	rc, res = p.call("ompd_process_initialize", 1, out)
	if rc != callbacks.OK {
		t.Fatalf("ompd_process_initialize: %v, symbols missing: %v", rc, s.unknown)
	}
	p.space = callbacks.Word(res[0])
	return p
}

// pictures asks both libraries all questions about one core.
func pictures(t *testing.T, host string, r *omptest.Result) (theirs, own picture) {
	t.Helper()
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	ps, err := extended.Open(core, readers.Options{Epoch: 1})
	if err != nil || len(ps) != 1 {
		t.Fatalf("%d runtimes, want 1: %v", len(ps), err)
	}
	lwps, err := core.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, core, ps[0].Identity().Module, ps[0].Layout().All())
	return look(openPeer(t, host, r.Runtime, s), lwps), look(ours{ps[0].Process}, lwps)
}

// TestAgainstLibompd asks both libraries the same questions. Answers are equal, or the difference is in the
// table, in which every entry must be needed.
func TestAgainstLibompd(t *testing.T) {
	host := compileHost(t)
	equal := map[string]int{} // by routine or variable
	used := map[string]int{}  // by defect
	for _, c := range situations {
		exe := omptest.Compile(t, omptest.Build{Program: c.program})
		for _, rt := range omptest.Runtimes(t) {
			t.Run(fmt.Sprintf("%s/%s/%s", c.program, c.env, rt.Name), func(t *testing.T) {
				theirs, own := pictures(t, host,
					omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: c.environ()}))
				compare(t, theirs, own, equal, used)
			})
		}
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(equal)) {
		t.Logf("%6d equal answers: %s", equal[k], k)
		total += equal[k]
	}
	least := enough
	if omptest.Quick() { // two releases, with fewer differences
		least /= 2
	}
	if total < least {
		t.Errorf("%d answers were equal, want at least %d", total, least)
	}
	for _, d := range defects {
		t.Logf("%6d differences: %s", used[d.why], d.why)
		if used[d.why] == 0 && !omptest.Quick() {
			t.Errorf("no answer differs any more because %s: remove the entry", d.why)
		}
	}
	for _, routine := range strings.Fields(compared) {
		if equal[routine] == 0 {
			t.Errorf("no answer of both libraries to %s was equal", routine)
		}
	}
}

// enough is the least number of equal answers of both libraries.
const enough = 10_000

// compare counts equal answers and those that a defect explains; the others fail the test.
func compare(t *testing.T, theirs, own picture, equal, used map[string]int) {
	t.Helper()
	for _, k := range keys(theirs, own) {
		q := question{key: k, theirs: shown(theirs, k), ours: shown(own, k), peer: theirs, own: own}
		if q.theirs == q.ours {
			equal[q.routine()]++
			continue
		}
		why := q.explain()
		if why == "" {
			t.Errorf("%s: libompd says %q, we say %q", k, q.theirs, q.ours)
		}
		used[why]++
	}
}

// shown returns the answer to question k, or "not asked".
func shown(p picture, k string) string {
	a, ok := p[k]
	if !ok {
		return "not asked"
	}
	return a.String()
}
