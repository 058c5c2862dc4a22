package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

// maxFolded bounds the events in which repeats are searched at once: the rings of eight threads, in 10 MiB. A repeat
// in more events becomes several lines.
const maxFolded = 1 << 18

// eventRepeats collects events, to print the repeats of each thread as one line.
type eventRepeats struct {
	rows   []eventRow
	texts  []eventText
	known  map[string]int32 // indexes of texts, by text
	folded int              // events that have no line of their own
}

// eventRow is an event that is not printed yet.
type eventRow struct {
	ago    time.Duration
	lwp    uint32
	text   int32 // index of its text
	member Member
	place  string
}

// eventText is the text of events, and the same without ids.
type eventText struct{ full, plain string }

// eventRepeat is a repeat of one thread's events: the rows of its first and its last time.
type eventRepeat struct {
	first, last []int
	times       int
}

// FoldRepeats prints events of one thread that repeat as one line, with the time of the last one. FoldNothing and
// Summarize come before it.
func (p *Events) FoldRepeats() {
	if !p.all {
		p.repeats = &eventRepeats{known: map[string]int32{}}
	}
}

// collect keeps an event to be printed later, and prints all if there are many.
func (p *Events) collect(ago time.Duration, lwp uint32, member Member, text []byte, pc uint64) {
	r := p.repeats
	i, ok := r.known[string(text)]
	if !ok {
		i = int32(len(r.texts))
		full := string(text)
		r.texts = append(r.texts, eventText{full, withoutIDs(full)})
		r.known[full] = i
	}
	r.rows = append(r.rows, eventRow{ago, lwp, i, member, p.spot(pc)})
	if len(r.rows) == maxFolded {
		p.printCollected()
	}
}

// printCollected prints the collected events.
func (p *Events) printCollected() {
	r := p.repeats
	repeats := r.find()
	for i, row := range r.rows {
		repeat, ok := repeats[i]
		switch {
		case !ok:
			p.printEvent(row.ago, row.lwp, row.member, []byte(r.texts[row.text].full), row.place)
		case repeat != nil:
			r.folded += repeat.times*len(repeat.last) - 1
			p.printEvent(row.ago, row.lwp, row.member, []byte(r.line(repeat)), r.places(repeat))
		}
	}
	r.rows, r.texts = r.rows[:0], r.texts[:0]
	clear(r.known)
}

// find finds the repeats of each thread. The result has the rows of all of them: with the repeat for its last row, and
// with nil for the others.
func (r *eventRepeats) find() map[int]*eventRepeat {
	type key struct {
		text, place string
		member      Member
	}
	threads := map[uint32][]int{}
	for i, row := range r.rows {
		threads[row.lwp] = append(threads[row.lwp], i)
	}
	out := map[int]*eventRepeat{}
	for _, rows := range threads {
		keys := make([]key, len(rows))
		for i, at := range rows {
			row := r.rows[at]
			keys[i] = key{r.texts[row.text].plain, row.place, row.member}
		}
		for at := 0; at < len(rows); {
			part := recursionAt(keys, at)
			if part.times > 1 {
				for _, i := range rows[at:part.end()] {
					out[i] = nil
				}
				last := rows[part.end()-part.period : part.end()]
				out[last[len(last)-1]] = &eventRepeat{rows[at : at+part.period], last, part.times}
			}
			at = part.end()
		}
	}
	return out
}

// line returns the text of a repeat: "asks for, acquires, releases critical (unnamed) ×14,000 in 2.75s".
func (r *eventRepeats) line(repeat *eventRepeat) string {
	var texts []string
	for _, i := range repeat.last {
		if s := r.texts[r.rows[i].text].plain; !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	took := r.rows[repeat.first[0]].ago - r.rows[repeat.last[len(repeat.last)-1]].ago
	return fmt.Sprintf("%s ×%s in %v", joinTexts(texts), phrase.Thousands(repeat.times), roundDuration(took))
}

// places returns the places of the events of a repeat.
func (r *eventRepeats) places(repeat *eventRepeat) string {
	const most = 2
	var places []string
	for _, i := range repeat.last {
		if s := r.rows[i].place; s != "" && !slices.Contains(places, s) {
			places = append(places, s)
		}
	}
	return phrase.Some(places, most, len(places))
}

// joinTexts joins the texts of events in one line, with the words at the end of all of them once: "begins, ends a
// loop".
func joinTexts(texts []string) string {
	words := make([][]string, len(texts))
	for i, s := range texts {
		words[i] = strings.Fields(s)
	}
	common := 0
	for len(texts) > 1 && isCommon(words, common+1) {
		common++
	}
	var heads []string
	for _, w := range words {
		heads = append(heads, strings.Join(w[:len(w)-common], " "))
	}
	tail := words[0][len(words[0])-common:]
	return strings.Join(append([]string{strings.Join(heads, ", ")}, tail...), " ")
}

// isCommon reports whether the texts end with the same n words, after a word of their own.
func isCommon(words [][]string, n int) bool {
	first := words[0]
	return !slices.ContainsFunc(words, func(w []string) bool {
		return n >= len(w) || w[len(w)-n] != first[len(first)-n]
	})
}
