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

// Bounds of one thread. A waiting loop has some ten instructions; with a backoff after each hundred reads, a
// thousand in all.
const (
	maxInstructions = 6000
	maxDry          = 1000 // instructions of a dry run
	maxTurn         = 32   // instructions of one path before the next one is followed
	maxStates       = 64   // in the queue
	maxRounds       = 8    // after that, values that differ between rounds are made unknown
	maxDryRounds    = 1    // the same in a dry run: real counters have used other addresses by then
	maxLater        = 4    // rounds in which further words may turn out to decide a branch
	maxWords        = 63   // bits of Origins, without beforeLoop
	maxWritten      = 16   // words visible to other threads
	maxAgain        = 200  // instructions before a spinning thread reads a word again
)

// beforeLoop is the origin of memory of the thread's own that it has written on the way to the loop. Another thread may
// find its address, and change it, as in a queue of waiting threads.
const beforeLoop emulate.Origins = 1 << maxWords

// Config contains the sources of code, memory and names.
type Config struct {
	Code *lift.Decoder
	Mem  callbacks.Memory
	// Own reports whether an address is on the thread's own stack, or in its thread-local data.
	Own func(addr uint64) bool
	// Constant reports whether no thread can write to an address. It may be nil.
	Constant func(addr uint64) bool
	// Name returns the name of the function that starts at an address; "" if it has no name.
	Name func(entry uint64) string
	// Passes reports whether a function with a name only lets time pass and returns 0. Pure reports whether it
	// changes no memory and returns an unknown value.
	Passes, Pure func(name string) bool
	// Reads returns the size of the number that a function with a name reads at its first argument and returns;
	// 0 for other functions. It may be nil.
	Reads func(name string) uint8
	// Vectors returns the vector registers of the thread as emulate.Machine.SetVectors expects them. It is nil if they
	// are unknown.
	Vectors func() []byte
	// Waits is set if the code probably waits: the dry run is then skipped.
	Waits bool
}

// Word is a number in memory.
type Word struct {
	Address uint64
	Size    uint8  // bytes
	Read    uint64 // the instruction in the function with the loop that reads it, or the call that does
	Own     bool   // it is on the thread's own stack
	Given   bool   // its address is the first argument of that call
}

// errLeaves is the error for a thread that may do more than wait.
var errLeaves = errors.New("it leaves the loop")

// Loop is a loop in which a thread waits.
type Loop struct {
	PC    uint64 // of an instruction in it
	Words []Word // that it waits for; empty if the loop has no exit
	// Written are the words that it writes and that are visible to other threads.
	Written []Word
	// Calls is set if it calls functions, which use the stack below its own frame.
	Calls bool
	// Branches are the branches and calls in the function with the loop. Passes names the called functions that only
	// let time pass.
	Branches []uint64
	Passes   []string

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

// Find returns the loop in which a thread with these registers spins, or nil. The way in which the thread rounds
// numbers is not known: if the loop depends on it, it must wait for the same words with each.
func Find(cfg *Config, regs *callbacks.Registers) *Loop {
	if !cfg.Waits && !comesBack(cfg, regs) {
		return nil
	}
	rounding := emulate.Rounding{Mode: lift.RoundNearest}
	loop := findRounding(cfg, regs, &rounding)
	if loop == nil || !rounding.Used {
		return loop
	}
	for _, mode := range []lift.Rounding{lift.RoundDown, lift.RoundUp, lift.RoundToZero} {
		other := findRounding(cfg, regs, &emulate.Rounding{Mode: mode})
		if other == nil || !slices.Equal(other.Words, loop.Words) {
			return nil
		}
	}
	return loop
}

// findRounding returns the loop in which a thread spins if it rounds numbers in one way.
func findRounding(cfg *Config, regs *callbacks.Registers, rounding *emulate.Rounding) *Loop {
	first := newExplorer(cfg, false)
	m := first.newMachine(regs)
	m.Rounding = rounding
	if first.explore(m) != nil || first.loop == nil {
		return nil
	}
	// Once more from within the loop: earlier reads do not count.
	e, ok := followLoop(cfg, first.loop)
	if ok && e.outer.depth < e.loop.depth { // it returned to a state in a function that the loop calls
		e, ok = followLoop(cfg, e.outer)
	}
	// A word that it writes only on the way to the loop may be the one that another thread waits for.
	early := slices.ContainsFunc(first.written, func(w Word) bool {
		return !slices.ContainsFunc(e.written, w.Overlaps)
	})
	if !ok || early || e.deciding == 0 && e.readsShared() {
		return nil
	}
	return &Loop{PC: e.loop.PC, Words: e.waitsFor(), Written: e.written, Calls: e.calls, own: e.own,
		Branches: e.branchesAt(e.loop.depth), Passes: e.passes}
}

// readsShared reports whether a word was read that another thread may change. Even without a branch on it, the
// loop may depend on it: compilers fold a wait for a counter into the loop around it.
func (e *explorer) readsShared() bool {
	return slices.ContainsFunc(e.words, func(w Word) bool { return !w.Own && !e.isConstant(w) })
}

// isConstant reports whether no thread can write a word.
func (e *explorer) isConstant(w Word) bool { return e.cfg.Constant != nil && e.cfg.Constant(w.Address) }

// comesBack reports whether the code can return to an earlier state for some content of memory.
func comesBack(cfg *Config, regs *callbacks.Registers) bool {
	dry := newExplorer(cfg, true)
	dry.explore(dry.newMachine(regs))
	return dry.loop != nil
}

// followLoop follows a loop from one of its states until it returns to it, and until no more words decide its
// branches: a word read in one round may decide a branch of the next. It fails if a branch depends on memory of the
// thread's own that was last written on the way to the loop: the loop may end when it is written again.
func followLoop(cfg *Config, from *machine) (*explorer, bool) {
	e := newExplorer(cfg, false)
	from.moveTo(e)
	for round := range maxLater {
		if round == 1 { // each round has written what it writes
			e.deciding &^= beforeLoop
		}
		before := e.deciding
		e.seen = map[uint64]*point{from.PC: {state: from.clone()}}
		e.loop = nil
		if err := e.explore(from); err != nil || e.loop == nil {
			return e, false
		}
		if from = e.loop; round > 0 && e.deciding == before {
			break
		}
	}
	return e, e.deciding&beforeLoop == 0
}

// ReadsAgain reports whether a thread will read a word before its current function returns, with the present
// memory.
func ReadsAgain(cfg *Config, regs *callbacks.Registers, word uint64) bool {
	e := newExplorer(cfg, false)
	m := e.newMachine(regs)
	for range maxAgain {
		err := m.Step(cfg.Code, m)
		if _, read := m.reads[word]; read {
			return true
		}
		if err != nil || len(e.queue) > 0 || m.depth < 0 { // queue: a branch on an unknown condition
			return false
		}
	}
	return false
}

// explorer follows a thread on all possible paths.
type explorer struct {
	cfg      *Config
	dry      bool // memory that other threads may change is not read
	words    []Word
	index    map[uint64]int    // index in words, by address
	reads    map[uint64]uint64 // dry: address that an instruction reads or writes, by instruction
	deciding emulate.Origins   // the words that decided a branch
	seen     map[uint64]*point
	queue    []*machine
	left     int             // instructions before it gives up
	turns    int             // machines that were taken from the queue
	loop     *machine        // the outermost state that was reached again
	outer    *machine        // the outermost state after a backward jump
	written  []Word          // visible to other threads
	own      map[uint64]bool // bytes of the thread's own memory that were written
	calls    bool            // it called a function
	branches map[uint64]int  // depth of each branch and call
	passes   []string        // called functions that only let time pass
}

// point is the target of a backward jump.
type point struct {
	state  *machine
	rounds int
}

func newExplorer(cfg *Config, dry bool) *explorer {
	e := &explorer{
		cfg: cfg, dry: dry, index: map[uint64]int{}, reads: map[uint64]uint64{}, seen: map[uint64]*point{},
		own: map[uint64]bool{}, branches: map[uint64]int{},
		left: maxInstructions,
	}
	if dry {
		e.left = maxDry
	}
	return e
}

// explore follows m until each path returns to an earlier state. It fails if one path does not; in a dry run,
// that path only ends.
func (e *explorer) explore(m *machine) error {
	e.queue = append(e.queue, m.clone())
	for len(e.queue) > 0 && !(e.dry && e.loop != nil) {
		m := e.next()
		if err := e.follow(m); err != nil && !e.dry {
			return err
		}
	}
	return nil
}

// next removes a machine from the queue. The code after a loop has more and more paths. So in a dry run, every second
// machine is one that has returned from the fewest functions.
func (e *explorer) next() *machine {
	i := 0
	if e.turns++; e.dry && e.turns%2 == 0 {
		for k, m := range e.queue {
			if m.lowest > e.queue[i].lowest {
				i = k
			}
		}
	}
	m := e.queue[i]
	e.queue = slices.Delete(e.queue, i, i+1)
	return m
}

// follow executes one machine until it returns to a known state.
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

// noteReturn records that m jumped backward, and reports whether its state is already known.
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

// fork adds another machine to the queue.
func (e *explorer) fork(m *machine) error {
	if len(e.queue) == maxStates {
		return errLeaves
	}
	e.queue = append(e.queue, m)
	return nil
}

// waitsFor returns the words that decided branches: those shared with other threads, if there are any. It leaves out
// constants.
func (e *explorer) waitsFor() []Word {
	var out []Word
	for s := e.deciding; s != 0; s &= s - 1 {
		w := e.words[bits.TrailingZeros64(uint64(s))]
		if e.isConstant(w) {
			continue
		}
		w.Read, w.Given = e.loop.callSite(w)
		out = append(out, w)
	}
	if slices.ContainsFunc(out, func(w Word) bool { return !w.Own }) {
		out = slices.DeleteFunc(out, func(w Word) bool { return w.Own })
	}
	return out
}

// branchesAt lists the branches and calls of the functions at a depth, in the order of their addresses.
func (e *explorer) branchesAt(depth int) []uint64 {
	out := slices.Collect(maps.Keys(e.branches))
	out = slices.DeleteFunc(out, func(pc uint64) bool { return e.branches[pc] != depth })
	slices.Sort(out)
	return out
}

// covers reports whether state a includes state b, as far as both are known.
func (e *explorer) covers(a, b *machine) bool {
	for r := range a.ABI.General {
		if !a.Regs[r].Covers(b.Regs[r]) {
			return false
		}
	}
	if !emulate.VectorsCover(&a.Machine, &b.Machine) {
		return false
	}
	same := func(at uint64) bool {
		x, y := e.byteOf(a, at), e.byteOf(b, at)
		return x.Known&^y.Known == 0 && (x.V^y.V)&x.Known == 0
	}
	return allKeys(a.Written, same) && allKeys(b.Written, same)
}

// widen makes the values of m unknown that differ from those of another state.
func (e *explorer) widen(m, other *machine) {
	for r := range m.ABI.General {
		if x := m.Regs[r]; !x.Covers(other.Regs[r]) {
			m.Regs[r] = emulate.Value{From: x.From}
		}
	}
	m.WidenVectors(&other.Machine)
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

// byteOf returns a byte of the thread's own memory after the writes of a machine.
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

// constant returns the content of memory that no thread writes, such as the table of a switch.
func (e *explorer) constant(at uint64, size uint8) (emulate.Value, error) {
	var b [8]byte
	if e.cfg.Mem.ReadMemory(callbacks.Addr(at), b[:size]) != nil {
		return emulate.Value{}, errLeaves
	}
	return emulate.Number(callbacks.Word(b[:size])), nil
}

// word returns the index of the word at an address, which is added if needed.
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

// sameAddress returns an error if an instruction uses another address than before.
func (e *explorer) sameAddress(at, pc uint64) error {
	if before, ok := e.reads[pc]; ok && before != at {
		return errLeaves
	}
	e.reads[pc] = at
	return nil
}
