package lockflow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestTakes compares the families of locks that functions may take, by single instructions, with the effects that
// following their values shows: none is missing. Some functions call each other in a ring, hand functions on, or call
// through pointers.
func TestTakes(t *testing.T) {
	const graphs = 400
	taken, without := 0, 0
	for seed := range uint64(graphs) {
		code := assemble(t, randomLocking(rand.New(rand.NewPCG(seed, 2))))
		p := code.open(nil)
		for name, entry := range code.entries {
			if !strings.HasPrefix(name, "f") {
				continue
			}
			takes := p.takes.SummaryOf(entry)
			for _, family := range []string{rtl.FamilyLock, rtl.FamilyMutex} {
				if takes&familySet(family) == 0 {
					without++
				}
				for _, e := range effectsOn(p, family)(entry).list {
					if e.family != family || !e.does.MaySets() {
						continue
					}
					taken++
					if takes&familySet(family) == 0 {
						t.Fatalf("seed %d: %s takes a %s, which single instructions do not show:\n%s", seed, name,
							family, code.texts[name])
					}
				}
			}
		}
	}
	if taken < graphs || without < graphs {
		t.Errorf("%d taken locks, %d functions that take none of a family", taken, without)
	}
}

// randomLocking returns functions that take and release locks, and call each other or hand each other on.
func randomLocking(random *rand.Rand) map[string]string {
	const functions, lines = 6, 5
	of := func(list ...string) string { return list[random.IntN(len(list))] }
	out := map[string]string{}
	for i := range functions {
		var text []string
		for range random.IntN(lines) {
			if random.IntN(3) == 0 {
				text = append(text, "maybe 2")
			}
			other := fmt.Sprintf("f%d", random.IntN(functions))
			text = append(text, of("first 4096", "first 8192", "hand "+other), of("call omp_set_lock",
				"call omp_unset_lock", "call omp_test_lock", "call pthread_mutex_lock", "call pthread_mutex_unlock",
				"call "+other, "call "+other, "call opaque", "call usleep", "indirect"))
		}
		out[fmt.Sprintf("f%d", i)] = strings.Join(append(text, "result 0"), "\n")
	}
	return out
}
