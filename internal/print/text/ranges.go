package text

import (
	"fmt"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

// maxPieces is how many numbers and ranges of numbers are named in one line before the
// rest is counted.
const maxPieces = 16

// lwps is a list of threads; how much of it is named depends on what is folded.
func (p *Printer) lwps(ids []int) string {
	if p.all {
		return phrase.Ranges(ids, 0)
	}
	return phrase.Ranges(ids, maxPieces)
}

// extent is how far some numbers reach.
type extent struct{ low, high, n int }

func (e *extent) add(v int) {
	if e.n == 0 {
		e.low, e.high = v, v
	}
	e.low, e.high, e.n = min(e.low, v), max(e.high, v), e.n+1
}

// String is "3" or "0-7", "0..7" if some in between are missing, or "" of no number.
func (e extent) String() string {
	switch {
	case e.n == 0:
		return ""
	case e.low == e.high:
		return strconv.Itoa(e.low)
	}
	if e.n < e.high-e.low+1 {
		return fmt.Sprintf("%d..%d", e.low, e.high)
	}
	return fmt.Sprintf("%d-%d", e.low, e.high)
}
