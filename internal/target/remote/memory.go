package remote

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

const (
	// pageSize is the unit of caching.
	pageSize = 4096
	// firstChunk is the size of a request in an unknown area, in bytes: a round trip costs more than these
	// bytes.
	firstChunk = 16 * pageSize
	// maxChunk is the maximal size of a request, up to which the chunks of sequential reads grow.
	maxChunk = 64 * pageSize
	// maxAsked bounds the bytes requested in one message: their answer must fit in a message, too.
	maxAsked = 2 << 20
	// maxPages bounds the cache of one stop: 256 MiB. A picture of a thousand threads touches about twenty
	// pages of each.
	maxPages = 1 << 16
)

type page [pageSize]byte

// memory is the debugger's memory at one stop.
type memory struct {
	mu    sync.Mutex
	pages map[uint64]*page // by address
	bad   map[uint64]hole  // partly or completely unreadable pages, by address
	last  [recent]span     // last requested chunks
	taken *budget.Ledger   // for the pages
}

// hole describes a page that cannot be read completely.
type hole struct {
	none bool // the first byte is unreadable, hence all: pages are the unit of mapping
	code ompdv1.AnswerCode
}

// recent is the number of places at which sequential reads are detected.
const recent = 8

func newMemory(l *budget.Ledger) *memory {
	return &memory{pages: map[uint64]*page{}, bad: map[uint64]hole{}, taken: l.Part()}
}

// close drops the cache. Later pages are not counted: they are short-lived.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	m.taken = nil
}

// forget drops all pages. The caller holds the lock.
func (m *memory) forget() {
	clear(m.pages)
	m.taken.Close()
}

// count charges n bytes of pages. If necessary, it drops the present pages, which can be requested again. The
// caller holds the lock.
func (m *memory) count(n int) error {
	const what = "memory that a debugger lends"
	if len(m.pages) <= maxPages && m.taken.Try(what, uint64(n)) == nil {
		return nil
	}
	m.forget()
	return m.taken.Take(what, uint64(n))
}

func pageOf(a uint64) uint64 { return a &^ (pageSize - 1) }

// ReadMemory fills p from address a.
func (b bound) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	b.s.memory.mu.Lock()
	defer b.s.memory.mu.Unlock()
	for at := a.Offset; len(p) > 0; {
		n, err := b.read(at, p)
		if err != nil {
			return err
		}
		at, p = at+n, p[n:]
	}
	return nil
}

// read fills the start of p, up to the end of a page or of a file's part. The caller holds the memory's lock.
func (b bound) read(at uint64, p []byte) (uint64, error) {
	m := b.s.memory
	base := pageOf(at)
	// Files come before pages that were lent: gdb fills the gaps between the sections of a file, and the rest of a
	// request that contains one, with zeros if the core names a file that is not at that path.
	if n := b.readFile(at, p); n > 0 {
		return n, nil
	}
	if pg := m.pages[base]; pg != nil {
		return uint64(copy(p, pg[at-base:])), nil
	}
	if hole, bad := m.bad[base]; bad {
		if hole.none {
			return 0, &callbacks.FaultError{Address: callbacks.Addr(at), Err: causeOf(hole.code)}
		}
		n := min(uint64(len(p)), base+pageSize-at)
		return n, b.readExactly(at, p[:n])
	}
	if err := b.fetch(m.chunk(base, uint64(len(p))+at-base)); err != nil {
		return 0, &callbacks.FaultError{Address: callbacks.Addr(at), Err: err}
	}
	return b.read(at, p) // now it is known
}

// readFile reads the part of a module's file that the program cannot have changed.
func (b bound) readFile(at uint64, p []byte) uint64 {
	table := b.s.modules.table.Load()
	if table == nil {
		return 0
	}
	piece, ok := table.PieceAt(callbacks.Addr(at))
	if !ok || piece.Writable() {
		return 0
	}
	return uint64(copy(p, piece.Data))
}

// span is a range of memory.
type span struct{ at, size uint64 }

// chunk returns the range to request for need bytes at base: a larger one after recent requests right before
// base, but without known pages.
func (m *memory) chunk(base, need uint64) span {
	size, slot := max(uint64(firstChunk), (need+pageSize-1)&^(pageSize-1)), recent-1
	for i, l := range m.last {
		if end := l.at + l.size; base >= end && base-end <= l.size {
			size, slot = max(size, 2*l.size), i
			break
		}
	}
	size = min(size, maxChunk)
	for n := uint64(pageSize); n < size; n += pageSize {
		if _, bad := m.bad[base+n]; bad || m.pages[base+n] != nil || base+n < base {
			return span{base, n}
		}
	}
	copy(m.last[1:slot+1], m.last[:slot]) // the latest is first
	m.last[0] = span{base, size}
	return m.last[0]
}

// fetch requests memory and caches it, in as few messages as possible. The caller holds the memory's lock.
func (b bound) fetch(spans ...span) error {
	for len(spans) > 0 {
		var questions []*ompdv1.Question
		n, asked := 0, uint64(0)
		for ; n < len(spans) && (n == 0 || asked+spans[n].size <= maxAsked); n++ {
			asked += spans[n].size
			questions = append(questions, memoryQuestion(spans[n].at, spans[n].size))
		}
		answers, err := b.ask(questions...)
		if err != nil {
			return err
		}
		for i, a := range answers {
			if err := b.s.memory.keep(spans[i], a); err != nil {
				return err
			}
		}
		spans = spans[n:]
	}
	return nil
}

func memoryQuestion(at, size uint64) *ompdv1.Question {
	return &ompdv1.Question{Question: &ompdv1.Question_Memory{Memory: &ompdv1.MemoryQuestion{Address: at,
		Size: uint32(size)}}}
}

// keep caches the complete pages of an answer, and records the incomplete one.
func (m *memory) keep(s span, a *ompdv1.Answer) error {
	data, code := a.GetMemory().GetData(), a.GetMemory().GetCode()
	if e := a.GetError(); e != nil {
		code = e.GetCode()
	} else if a.GetMemory() == nil {
		return errorOf(a, false)
	}
	if uint64(len(data)) > s.size {
		return fmt.Errorf("the debugger gave %d bytes for %d: %w", len(data), s.size, callbacks.CallbackError)
	}
	if err := m.count(len(data)); err != nil {
		return err
	}
	at := s.at
	for ; len(data) >= pageSize; data, at = data[pageSize:], at+pageSize {
		m.pages[at] = (*page)(data)
	}
	if at-s.at < s.size { // the last page may end with the address space
		_, known := codes[code]
		m.bad[at] = hole{len(data) == 0 && known, code}
	}
	return nil
}

// causeOf returns the cause of a fault for a debugger's code.
func causeOf(code ompdv1.AnswerCode) error {
	if code == ompdv1.AnswerCode_ANSWER_CODE_NOT_CAPTURED {
		return callbacks.ErrNotCaptured
	}
	return callbacks.ErrUnmapped
}

// readExactly requests bytes of a page that cannot be read completely.
func (b bound) readExactly(at uint64, p []byte) error {
	answers, err := b.ask(memoryQuestion(at, uint64(len(p))))
	if err != nil {
		return &callbacks.FaultError{Address: callbacks.Addr(at), Err: err}
	}
	a := answers[0]
	n := copy(p, a.GetMemory().GetData())
	if n == len(p) {
		return nil
	}
	fault := &callbacks.FaultError{Address: callbacks.Addr(at + uint64(n)), Err: causeOf(a.GetMemory().GetCode())}
	if a.GetMemory() == nil && codes[a.GetError().GetCode()] == nil {
		fault.Err = errorOf(a, false)
	} else if a.GetMemory() == nil {
		fault.Err = causeOf(a.GetError().GetCode())
	}
	return fault
}
