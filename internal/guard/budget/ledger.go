package budget

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// DefaultMemory is the default limit of the memory that a target may make its reader hold, in
// bytes: about ten times the memory of a report of a thousand threads.
const DefaultMemory = 512 << 20

// uncounted is the divisor of a limit for the share of uncounted memory: the program itself, pages of mapped
// files, and freed memory that is not collected yet.
const uncounted = 3

// maxRefused bounds the named parts among the left-out ones.
const maxRefused = 6

// ErrMemory means that the memory which a target makes its reader hold reached the limit.
var ErrMemory = errors.New("the limit of memory is reached")

// Ledger counts the memory that is taken for one target: for its file, and for the files that it names. Code
// that takes memory in proportion to a file's claim calls Take first, and leaves out the refused part. A nil
// Ledger has no limit. It is safe for concurrent use.
type Ledger struct {
	of    *Ledger          // the ledger that it is a part of; nil for a whole one
	under callbacks.Ledger // another implementation that counts in its place; may be nil
	limit uint64           // in bytes; 0: no limit
	held  atomic.Uint64
	left  *refusals
}

// refusals are the parts that were left out, each once.
type refusals struct {
	mu   sync.Mutex
	list []string
}

// NewLedger returns a ledger for a process that may hold limit bytes (0: no limit).
func NewLedger(limit uint64) *Ledger { return &Ledger{limit: limit, left: &refusals{}} }

// LedgerOf returns l itself if it is a Ledger, or a Ledger that forwards to l; nil for nil.
func LedgerOf(l callbacks.Ledger) *Ledger {
	switch l := l.(type) {
	case nil:
		return nil
	case *Ledger:
		return l
	}
	return &Ledger{under: l, left: &refusals{}}
}

// Part returns a ledger that counts for l too, until it is closed. It refuses when l does,
// and l reports the refusal.
func (l *Ledger) Part() *Ledger {
	if l == nil {
		return nil
	}
	return &Ledger{of: l, left: l.left}
}

// Look returns a Part that reports its refusals itself.
func (l *Ledger) Look() *Ledger {
	p := l.Part()
	if p != nil {
		p.left = &refusals{}
	}
	return p
}

// NewPart returns a Look of at most limit bytes of l (0: no own limit).
func (l *Ledger) NewPart(limit uint64) *Ledger {
	p := l.Look()
	if p != nil {
		p.limit = limit
	}
	return p
}

// Half returns a Part of at most half the memory of l, for data that must leave room for others.
func (l *Ledger) Half() *Ledger {
	p := l.Part()
	if p != nil {
		_, limit := l.refused()
		p.limit = limit / 2
	}
	return p
}

// Close gives back all taken memory. The ledger can be used again.
func (l *Ledger) Close() {
	if l != nil {
		l.Give(l.held.Load())
	}
}

// Take counts n bytes for what, which the error and Err name. On an error, the bytes are not counted, and the
// memory must not be taken.
func (l *Ledger) Take(what string, n uint64) error {
	err := l.Try(what, n)
	if err != nil {
		l.left.add(what, n)
	}
	return err
}

// Try is Take for a caller that reports the left-out part itself: Err does not.
func (l *Ledger) Try(what string, n uint64) error {
	if l == nil {
		return nil
	}
	if limit, ok := l.add(n); !ok {
		return fmt.Errorf("%w: %d MiB more of %d for %s", ErrMemory, mebibytes(n), limit>>20, what)
	}
	return nil
}

// mebibytes rounds up.
func mebibytes(n uint64) uint64 { return n>>20 + min(n&(1<<20-1), 1) }

// add counts n bytes here and in the ledgers that l is a part of. If one of them refuses, it counts them in no
// ledger and returns the limit that was reached.
func (l *Ledger) add(n uint64) (limit uint64, ok bool) {
	if !l.reserve(n) {
		return l.limit, false
	}
	switch {
	case l.of != nil:
		limit, ok = l.of.add(n)
	case l.under != nil:
		ok = l.under.Take("what a file claims", n) == nil
	default:
		return l.limit, true
	}
	if !ok {
		l.giveHere(n)
	}
	return limit, ok
}

// reserve counts n bytes here, if the limit allows it.
func (l *Ledger) reserve(n uint64) bool {
	most := l.limit - l.limit/uncounted
	for {
		held := l.held.Load()
		if l.limit > 0 && (n > most || held > most-n) {
			return false
		}
		if l.held.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

// giveHere gives back n bytes here, or as many as are held, and returns their number.
func (l *Ledger) giveHere(n uint64) uint64 {
	for {
		held := l.held.Load()
		if n = min(n, held); l.held.CompareAndSwap(held, held-n) {
			return n
		}
	}
}

// Give gives back n taken bytes.
func (l *Ledger) Give(n uint64) {
	for ; l != nil; l = l.of {
		if n = l.giveHere(n); l.under != nil {
			l.under.Give(n)
		}
	}
}

// HeldBytes returns the number of taken bytes.
func (l *Ledger) HeldBytes() uint64 {
	if l == nil {
		return 0
	}
	return l.held.Load()
}

// add records a left-out part. The same part is named once, however large it was.
func (r *refusals) add(what string, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := what + " ("
	known := slices.ContainsFunc(r.list, func(s string) bool { return strings.HasPrefix(s, name) })
	if !known && len(r.list) <= maxRefused {
		r.list = append(r.list, fmt.Sprintf("%s%d MiB)", name, mebibytes(n)))
	}
}

// Err returns an error that names the left-out parts in one line, or nil.
func (l *Ledger) Err() error {
	list, limit := l.refused()
	if len(list) == 0 {
		return nil
	}
	if len(list) > maxRefused {
		list = append(list[:maxRefused:maxRefused], "others")
	}
	const text = "%w (%d MiB), left out: %s; --max-memory raises it, 0 is any"
	return fmt.Errorf(text, ErrMemory, limit>>20, strings.Join(list, ", "))
}

// refused returns the parts left out here and in the ledgers that l is a part of, and the lowest
// limit.
func (l *Ledger) refused() (list []string, limit uint64) {
	for ; l != nil; l = l.of {
		if l.limit > 0 && (limit == 0 || l.limit < limit) {
			limit = l.limit
		}
		if l.of == nil || l.of.left != l.left {
			l.left.mu.Lock()
			list = append(list, l.left.list...)
			l.left.mu.Unlock()
		}
	}
	return list, limit
}
