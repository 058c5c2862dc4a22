package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

// eventKey is equal for events that are counted together: their texts without ids, and their places.
type eventKey struct{ text, place string }

// eventSum is the number of equal events, and their threads.
type eventSum struct {
	n       int
	threads map[uint32]bool
}

// maxSums bounds the different events that are counted.
const maxSums = 1 << 16

// Summarize counts equal events, for End, in place of printing each.
func (p *Events) Summarize() { p.sums = map[eventKey]*eventSum{} }

// count counts an event.
func (p *Events) count(lwp uint32, text []byte, pc uint64) {
	key := eventKey{withoutIDs(string(text)), p.spot(pc)}
	s := p.sums[key]
	if s == nil {
		if len(p.sums) >= maxSums {
			key = eventKey{text: "other events"}
		}
		if s = p.sums[key]; s == nil {
			s = &eventSum{threads: map[uint32]bool{}}
			p.sums[key] = s
		}
	}
	s.n++
	s.threads[lwp] = true
}

// withoutIDs removes the ids of tasks and regions from the text of an event.
func withoutIDs(text string) string {
	words := strings.Fields(text)
	return strings.Join(slices.Compact(slices.DeleteFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "0x") && strings.Contains(text, "task") || isRingID(w)
	})), " ")
}

// isRingID reports whether a word is the number of a ring and a count: "1.7".
func isRingID(w string) bool {
	ring, count, ok := strings.Cut(strings.TrimSuffix(w, ","), ".")
	number := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return ok && number(ring) && number(count)
}

// printSums prints the numbers of equal events, the most frequent ones first.
func (p *Events) printSums() {
	keys := slices.SortedFunc(maps.Keys(p.sums), func(a, b eventKey) int {
		return cmp.Or(cmp.Compare(p.sums[b].n, p.sums[a].n), cmp.Compare(a.text, b.text),
			cmp.Compare(a.place, b.place))
	})
	t := table{head: []string{"count", "threads", "event", "at"}}
	for i, k := range keys {
		if i == rowsShown && !p.all {
			break
		}
		s := p.sums[k]
		t.add(phrase.Thousands(s.n)+"×", fmt.Sprint(len(s.threads)), phrase.Printable(k.text), k.place)
	}
	p.printTable(&t)
	if more := len(keys) - rowsShown; more > 0 && !p.all {
		p.printf("and %d more, which are rarer: --all", more)
	}
}
