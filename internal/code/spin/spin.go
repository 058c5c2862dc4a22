package spin

import (
	"errors"
	"maps"
	"math/bits"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Bounds of one thread. A loop that waits has some ten instructions; one that waits longer
// after each hundred looks, a thousand in all.
const (
	maxInstructions = 6000
	maxDry          = 1000 // instructions, without memory
	maxTurn         = 32   // instructions of one way, while others wait
	maxStates       = 64   // that wait to be followed
	maxRounds       = 8    // after which what is different in each is taken for unknown
	maxDryRounds    = 1    // the same without memory: those that count have shown other addresses by then
	maxLater        = 4    // rounds in which words turn out to decide
	maxWords        = 64   // bits of a set
	maxWritten      = 16   // words that other threads see
	maxAgain        = 200  // instructions in which a thread that spins looks at a word again
)

// Config is the source of code, memory and names.
type Config struct {
	Code *lift.Decoder
	Mem  callbacks.Memory
	// Own reports whether an address is on the thread's own stack, or in its thread-local data.
	Own func(addr uint64) bool
	// Constant reports whether no thread may write an address. It may be nil.
	Constant func(addr uint64) bool
	// Name returns the name of the function that starts at an address; "" if it has none.
	Name func(entry uint64) string
	// Passes reports whether a function, by its name, only lets time pass and returns 0; Pure whether it changes
	// nothing and returns an unknown value.
	Passes, Pure func(name string) bool
	// Reads returns the size of the number that a function, by its name, reads at its first argument and returns; 0 if
	// it does something else. It may be nil.
	Reads func(name string) uint8
	// Waits is set if the code is probably that of a wait: it is then followed on memory at once.
	Waits bool
}

// Word is a number in memory.
type Word struct {
	Address uint64
	Size    uint8  // bytes
	Read    uint64 // the instruction in the function with the loop that reads it, or calls what does
	Own     bool   // it is on the thread's own stack
	Given   bool   // its address is the first argument of that call
}

// errLeaves is the error for a thread that may do something else than wait.
var errLeaves = errors.New("it leaves the loop")

// Loop is a loop in which a thread waits.
type Loop struct {
	PC    uint64 // of an instruction in it
	Words []Word // that it waits for; none if the loop has no exit
	// Written are the words that it writes and other threads may see.
	Written []Word
	// Calls reports whether it calls functions, which use the stack below that of its own function.
	Calls bool

	own map[uint64]bool // bytes of the thread's own memory that it writes
}

// Writes reports whether the loop may write the byte at an address.
func (l *Loop) Writes(addr uint64) bool {
	return l.own[addr] || slices.ContainsFunc(l.Written, func(w Word) bool { return w.Contains(addr) })
}

// Contains reports whether an address is in the word.
func (w Word) Contains(addr uint64) bool { return addr >= w.Address && addr-w.Address < uint64(w.Size) }

// Overlaps reports whether two words have a byte in common.
func (w Word) Overlaps(o Word) bool { return w.Contains(o.Address) || o.Contains(w.Address) }

// Find returns the loop in which a thread with these registers spins; nil if it does not.
func Find(cfg *Config, regs *callbacks.Registers) *Loop {
	if regs.Arch != callbacks.ArchX86_64 {
		return nil
	}
	if !cfg.Waits && !comesBack(cfg, regs) {
		return nil
	}
	first := newExplorer(cfg, false)
	if first.explore(first.newMachine(regs)) != nil || first.loop == nil {
		return nil
	}
	// Once more from within the loop: what was read before does not count.
	e, ok := followLoop(cfg, first.loop)
	if ok && e.outer.depth < e.loop.depth { // it came back in a function that the loop calls
		e, ok = followLoop(cfg, e.outer)
	}
	if !ok || e.deciding == 0 && e.readsShared() {
		return nil
	}
	return &Loop{PC: e.loop.PC, Words: e.waitsFor(), Written: e.written, Calls: e.calls, own: e.own}
}

// readsShared reports whether a word was read that another thread may change. Without a branch on it, the loop may
// still count by it, as compilers fold a wait for a counter into the loop around it.
func (e *explorer) readsShared() bool {
	return slices.ContainsFunc(e.words, func(w Word) bool {
		return !w.Own && (e.cfg.Constant == nil || !e.cfg.Constant(w.Address))
	})
}

// comesBack reports whether the code may come back at all, whatever is in memory.
func comesBack(cfg *Config, regs *callbacks.Registers) bool {
	dry := newExplorer(cfg, true)
	dry.explore(dry.newMachine(regs))
	return dry.loop != nil
}

// followLoop follows a loop from one of its states until it comes back, and until no more words decide its
// branches: what one round reads may decide a branch of the next.
func followLoop(cfg *Config, from *machine) (*explorer, bool) {
	e := newExplorer(cfg, false)
	from.moveTo(e)
	for round := range maxLater {
		before := e.deciding
		e.seen = map[uint64]*point{from.PC: {state: from.clone()}}
		e.loop = nil
		if err := e.explore(from); err != nil || e.loop == nil {
			return e, false
		}
		if from = e.loop; round > 0 && e.deciding == before {
			return e, true
		}
	}
	return e, true
}

// ReadsAgain reports whether a thread is about to read a word, with the memory as it is, before the
// function that it is in returns.
func ReadsAgain(cfg *Config, regs *callbacks.Registers, word uint64) bool {
	e := newExplorer(cfg, false)
	m := e.newMachine(regs)
	for range maxAgain {
		err := m.Step(cfg.Code, m)
		if _, read := m.reads[word]; read {
			return true
		}
		if err != nil || len(e.queue) > 0 || m.depth < 0 { // len: a branch of which the way is not known
			return false
		}
	}
	return false
}

// explorer follows a thread on all ways that it may go.
type explorer struct {
	cfg      *Config
	dry      bool // nothing is read that other threads may change
	words    []Word
	index    map[uint64]int    // among the words
	reads    map[uint64]uint64 // dry: the address that an instruction reads or writes
	deciding emulate.Origins   // the words that decided a branch
	seen     map[uint64]*point
	queue    []*machine
	left     int             // instructions
	loop     *machine        // the outermost state that it came back to
	outer    *machine        // the outermost state in which it went back
	written  []Word          // that others see
	own      map[uint64]bool // bytes of the thread's own memory that were written
	calls    bool            // it called a function
}

// point is a place that a loop comes back to.
type point struct {
	state  *machine
	rounds int
}

func newExplorer(cfg *Config, dry bool) *explorer {
	e := &explorer{
		cfg: cfg, dry: dry, index: map[uint64]int{}, reads: map[uint64]uint64{}, seen: map[uint64]*point{},
		own:  map[uint64]bool{},
		left: maxInstructions,
	}
	if dry {
		e.left = maxDry
	}
	return e
}

// explore follows m until each way came back. It fails if one does not; a dry one only ends
// there.
func (e *explorer) explore(m *machine) error {
	e.queue = append(e.queue, m.clone())
	for len(e.queue) > 0 && !(e.dry && e.loop != nil) {
		m := e.queue[0]
		e.queue = e.queue[1:]
		if err := e.follow(m); err != nil && !e.dry {
			return err
		}
	}
	return nil
}

// follow runs one machine until it came back to a state that is known.
func (e *explorer) follow(m *machine) error {
	for n := 0; e.left > 0; e.left-- {
		if n++; e.dry && n > maxTurn {
			return e.fork(m)
		}
		from := m.PC
		m.jumped = false
		if err := m.Step(e.cfg.Code, m); err != nil {
			return err
		}
		if m.jumped && m.PC <= from && e.noteReturn(m) {
			return nil
		}
	}
	return errLeaves
}

// noteReturn notes that m came back to where its code was, and reports whether all that follows
// is known.
func (e *explorer) noteReturn(m *machine) bool {
	m.tidy()
	if e.outer == nil || m.depth < e.outer.depth {
		e.outer = m.clone()
	}
	p := e.seen[m.PC]
	if p == nil {
		e.seen[m.PC] = &point{state: m.clone()}
		return false
	}
	if e.covers(p.state, m) {
		if e.loop == nil || m.depth < e.loop.depth {
			e.loop = m.clone()
		}
		return true
	}
	if p.rounds++; p.rounds > maxRounds || e.dry && p.rounds > maxDryRounds {
		e.widen(m, p.state)
	}
	p.state = m.clone()
	return false
}

// fork lets another machine be followed later.
func (e *explorer) fork(m *machine) error {
	if len(e.queue) == maxStates {
		return errLeaves
	}
	e.queue = append(e.queue, m)
	return nil
}

// waitsFor returns the words that decided branches: those that other threads have too, if
// there are some.
func (e *explorer) waitsFor() []Word {
	var out []Word
	for s := e.deciding; s != 0; s &= s - 1 {
		w := e.words[bits.TrailingZeros64(uint64(s))]
		w.Read, w.Given = e.loop.callSite(w)
		out = append(out, w)
	}
	if slices.ContainsFunc(out, func(w Word) bool { return !w.Own }) {
		out = slices.DeleteFunc(out, func(w Word) bool { return w.Own })
	}
	return out
}

// covers reports whether b is one of the states that a may be, as far as both are known.
func (e *explorer) covers(a, b *machine) bool {
	for r := range a.ABI.General {
		if !a.Regs[r].Covers(b.Regs[r]) {
			return false
		}
	}
	same := func(at uint64) bool {
		x, y := e.byteOf(a, at), e.byteOf(b, at)
		return x.Known&^y.Known == 0 && (x.V^y.V)&x.Known == 0
	}
	return allKeys(a.Written, same) && allKeys(b.Written, same)
}

// widen makes unknown in m what is different in another state.
func (e *explorer) widen(m, other *machine) {
	for r := range m.ABI.General {
		if x := m.Regs[r]; !x.Covers(other.Regs[r]) {
			m.Regs[r] = emulate.Value{From: x.From}
		}
	}
	merge := func(at uint64) bool {
		x, y := e.byteOf(m, at), e.byteOf(other, at)
		if x.Known&y.Known != 0xff || x.V != y.V {
			m.Written[at] = emulate.Byte{From: x.From | y.From}
		}
		return true
	}
	other.Written = maps.Clone(other.Written)
	allKeys(other.Written, merge)
	allKeys(maps.Clone(m.Written), merge)
}

func allKeys(bytes map[uint64]emulate.Byte, ok func(uint64) bool) bool {
	for at := range bytes {
		if !ok(at) {
			return false
		}
	}
	return true
}

// byteOf returns a byte of the thread's own memory as a machine left it.
func (e *explorer) byteOf(m *machine, at uint64) emulate.Byte {
	if b, ok := m.Written[at]; ok {
		return b
	}
	var b [1]byte
	if e.cfg.Mem.ReadMemory(callbacks.Addr(at), b[:]) != nil {
		return emulate.Byte{}
	}
	return emulate.Byte{V: b[0], Known: 0xff}
}

// constant returns the content of memory that no thread writes, as the table of a switch.
func (e *explorer) constant(at uint64, size uint8) (emulate.Value, error) {
	var b [8]byte
	if e.cfg.Mem.ReadMemory(callbacks.Addr(at), b[:size]) != nil {
		return emulate.Value{}, errLeaves
	}
	return emulate.Number(callbacks.Word(b[:size])), nil
}

// word returns the index of a word that is read.
func (e *explorer) word(at uint64, size uint8, own bool) (int, error) {
	n, ok := e.index[at]
	if ok {
		return n, nil
	}
	n = len(e.words)
	if n == maxWords {
		return 0, errLeaves
	}
	e.index[at] = n
	e.words = append(e.words, Word{Address: at, Size: size, Own: own})
	return n, nil
}

// sameAddress returns an error if an instruction has another address than before.
func (e *explorer) sameAddress(at, pc uint64) error {
	if before, ok := e.reads[pc]; ok && before != at {
		return errLeaves
	}
	e.reads[pc] = at
	return nil
}
