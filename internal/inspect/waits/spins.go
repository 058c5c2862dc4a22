package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// spins finds threads that only read memory until another thread changes it: their code is followed, with the
// current content of memory.
type spins struct {
	target callbacks.Target
	code   *stacks.Code
	data   *stacks.Data
	reader *symbolic.Reader             // nil before the first use
	known  map[uint64]string            // names of functions, by entry
	loops  map[*teams.Thread]*spin.Loop // the found loops
}

// Memory of a thread's own, besides its stack: glibc's block of the thread, on both sides of the thread pointer.
const (
	ownBelow = 1 << 12 // thread-local variables
	ownAbove = 1 << 12
	belowSP  = 1 << 10 // stack of called functions
)

// waitOf returns the wait of n for a word of memory to change, if it spins on one.
func (s *spins) waitOf(n *teams.Thread) (wait, bool) {
	st := n.Stack()
	regs, waits, ok := s.startRegisters(n, st)
	if !ok || !s.prepareReader() {
		return wait{}, false
	}
	cfg := s.config(n, &regs)
	cfg.Waits = waits
	loop := spin.Find(cfg, &regs)
	s.loops[n] = loop
	switch {
	case loop == nil, slices.ContainsFunc(loop.Words, s.isKernelWord),
		slices.ContainsFunc(loop.Written, func(w spin.Word) bool { return s.isShared(w.Address) }):
		return wait{}, false
	case len(loop.Words) == 0 && len(loop.Written) > 0: // it works without end
		return wait{}, false
	case len(loop.Words) == 0 && slices.ContainsFunc(loop.Passes, rtl.Sleeps): // it sleeps until the process ends
		return wait{}, false
	case len(loop.Words) == 0:
		return s.endlessWait(loop)
	}
	words := slices.DeleteFunc(slices.Clone(loop.Words), func(w spin.Word) bool {
		return s.isConstant(w.Address) || s.isShadow(w, loop.Words)
	})
	words = s.withoutYields(s.withoutLocals(words, st))
	i := slices.IndexFunc(words, func(w spin.Word) bool {
		return s.code.KindOf(s.frameAt(w.Read)) == stacks.KindUser
	})
	if i < 0 {
		return wait{}, false
	}
	first, name := words[i], ""
	for _, word := range words {
		if call, ok := s.triedLock(word); ok {
			first, name = word, call
			words = slices.DeleteFunc(words, func(o spin.Word) bool { // the runtime's own
				return o.Read == word.Read && o != word
			})
			break
		}
	}
	w := s.newWait(words, first, loop)
	w.Call = name
	return w, true
}

// withoutYields returns the words without those that a runtime reads to find out whether a taskyield has a task to
// execute, if others are left.
func (s *spins) withoutYields(words []spin.Word) []spin.Word {
	yields := func(w spin.Word) bool { return rtl.YieldsTask(s.calledBy(w.Read)) }
	if !slices.ContainsFunc(words, func(w spin.Word) bool { return !yields(w) }) {
		return words
	}
	return slices.DeleteFunc(words, yields)
}

// calledBy returns the name of the function that the instruction at pc calls; "" if it is no call.
func (s *spins) calledBy(pc uint64) string {
	in, ok := s.reader.Fetch(pc)
	if !ok {
		return ""
	}
	return s.code.CallTarget(pc + uint64(in.Length))
}

// withoutLocals returns the words without the local variables of the function with the loop, if others are left. The
// initial thread's stack also contains variables that all threads share: those of the functions around the region.
func (s *spins) withoutLocals(words []spin.Word, st *stacks.Stack) []spin.Word {
	top := slices.Index(st.Kinds, stacks.KindUser)
	local := func(w spin.Word) bool {
		return w.Own && w.Address < st.Frames[top].CFA
	}
	if top < 0 || !slices.ContainsFunc(words, func(w spin.Word) bool { return !local(w) }) {
		return words
	}
	return slices.DeleteFunc(words, local)
}

// runtimeLoop returns the loop of the runtime's code in which n waits for memory to change, nil if the loop may do
// more.
func (s *spins) runtimeLoop(n *teams.Thread) *spin.Loop {
	st := n.Stack()
	if st.RuntimeFrames() == 0 || !s.prepareReader() {
		return nil
	}
	regs := st.Frames[0].Registers
	name, system := s.code.SystemFunction(st.Frames[0])
	switch {
	case system && rtl.LetsTimePass(name) && len(st.Frames) > 1: // it yields the processor
		pointer := regs.ThreadPointer
		regs = st.Frames[1].Registers
		regs.ThreadPointer, regs.Flags = pointer, 0
		regs.Set(0, 0) // result of the call
	case regs.Syscall >= 0:
		return nil
	}
	cfg := s.config(n, &regs)
	cfg.Waits = true
	loop := spin.Find(cfg, &regs)
	if loop == nil || len(loop.Words) == 0 || len(loop.Written) > 0 || slices.ContainsFunc(loop.Words, s.isKernelWord) {
		return nil
	}
	return loop
}

// isKernelWord reports whether a word is written by the kernel: the time of day.
func (s *spins) isKernelWord(w spin.Word) bool {
	m := libc.MappingAt(s.code.Mappings(), w.Address)
	return m != nil && strings.HasPrefix(m.File, "[vvar")
}

// triedLock returns the function that tries to acquire a lock, if a word is that of the lock.
func (s *spins) triedLock(w spin.Word) (string, bool) {
	if !w.Given {
		return "", false
	}
	name := s.calledBy(w.Read)
	c, listed := rtl.LockCallOf(name)
	return name, listed && c.Try && c.Arg == 0
}

// endlessWait returns the wait for no event, in a loop without an exit.
func (s *spins) endlessWait(loop *spin.Loop) (wait, bool) {
	if s.code.KindOf(s.frameAt(loop.PC)) != stacks.KindUser {
		return wait{}, false
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitNothing, Awaited: s.loopAt(loop.PC, loop)}}
	w.Evidence = "it is in a loop that changes nothing, that no variable ends, and comes back to where it was"
	return w, true
}

// config returns the configuration with which the code of a thread is followed.
func (s *spins) config(n *teams.Thread, regs *callbacks.Registers) *spin.Config {
	st := n.Stack()
	low, high := regs.SP()-belowSP, st.Frames[len(st.Frames)-1].CFA
	tp := regs.ThreadPointer
	cfg := &spin.Config{
		Code: s.reader.Decoder, Mem: s.target, Name: s.functionName, Passes: rtl.LetsTimePass, Pure: rtl.ChangesNothing,
		Reads: rtl.ReadsFor, Constant: s.isConstant,
		Own: func(addr uint64) bool {
			return addr >= low && addr < high || tp != 0 && addr >= tp-ownBelow && addr < tp+ownAbove
		},
	}
	if regs.PC() == st.Frames[0].Registers.PC() { // a called function may have changed the vector registers
		cfg.Vectors = sync.OnceValue(func() []byte { return vectorRegisters(s.target, n) })
	}
	return cfg
}

// rereadsWord reports whether n, in the runtime's code, is about to read the word of a lock again: it has not
// acquired the lock.
func (s *spins) rereadsWord(n *teams.Thread, word uint64) bool {
	st := n.Stack()
	if len(st.Frames) == 0 || !s.prepareReader() {
		return false
	}
	regs := st.Frames[0].Registers
	return regs.Syscall < 0 && spin.ReadsAgain(s.config(n, &regs), &regs, word)
}

// startRegisters returns the registers from which the code of n is followed: its own, or those after the return
// of a call that lets time pass. Only code of the program is followed, and calls that try to acquire a lock. waits is
// set if that call shows that the code probably waits.
func (s *spins) startRegisters(n *teams.Thread, st *stacks.Stack) (regs callbacks.Registers, waits, ok bool) {
	top := slices.Index(st.Kinds, stacks.KindUser)
	if top < 0 || st.TailCalled > 0 {
		return regs, false, false
	}
	if regs = st.Frames[top].Registers; regs.ThreadPointer == 0 {
		regs.ThreadPointer = st.Frames[0].Registers.ThreadPointer
	}
	if top == 0 {
		return regs, false, regs.Syscall < 0
	}
	regs.Flags = 0
	name, _ := st.CalledFunction(top)
	if c, ok := rtl.LockCallOf(name); ok && c.Try || rtl.YieldsTask(name) { // its code is followed
		inner := st.Frames[0].Registers
		return inner, true, inner.Syscall < 0
	}
	switch {
	case rtl.LetsTimePass(name):
		regs.Set(0, 0) // result of the call
		return regs, true, true
	case rtl.ReadsFor(name) != 0:
		v, ok := s.readFor(st.Frames[top], rtl.ReadsFor(name))
		if !ok {
			return regs, false, false
		}
		regs.Set(0, v)
	case !rtl.ChangesNothing(name):
		return regs, false, false
	}
	return regs, false, true
}

// readFor returns the value that a function reads at the address given by a frame, and returns.
func (s *spins) readFor(f unwind.Frame, size uint8) (uint64, bool) {
	at, ok := s.code.Argument(f.PC, 0, f.Registers)
	if !ok {
		return 0, false
	}
	v, err := layout.ReadUint(s.target, callbacks.Addr(at), uint64(size))
	return v, err == nil
}

// prepareReader makes the reader of code.
func (s *spins) prepareReader() bool {
	if s.code.Symbols == nil {
		return false
	}
	if s.reader == nil {
		r, err := symbolic.NewReader(s.target.Arch(), s.target, s.code.Resolve)
		if err != nil {
			return false
		}
		s.reader, s.known = r, map[uint64]string{}
	}
	return true
}

// functionName returns the name of the function that starts at an address.
func (s *spins) functionName(entry uint64) string {
	name, ok := s.known[entry]
	if !ok {
		if name = stacks.EntryName(s.code.Symbols, entry); name == "" {
			name = s.reader.Stub(symbolic.Target{Entry: entry})
		}
		s.known[entry] = name
	}
	return name
}

// shadowAt is where the address sanitizer keeps the shadow of the memory.
var shadowAt = map[callbacks.Arch]uint64{callbacks.ArchX86_64: 0x7fff8000, callbacks.ArchAArch64: 1 << 36}

// shadowScale is the binary logarithm of the number of bytes for which the shadow has one.
const shadowScale = 3

// isShadow reports whether a word is the address sanitizer's shadow of another word, which marks whether the
// program may read it.
func (s *spins) isShadow(w spin.Word, words []spin.Word) bool {
	at, known := shadowAt[s.target.Arch()]
	return known && slices.ContainsFunc(words, func(o spin.Word) bool {
		return w.Address == o.Address>>shadowScale+at
	})
}

// isConstant reports whether no thread may write an address.
func (s *spins) isConstant(addr uint64) bool {
	m := libc.MappingAt(s.code.Mappings(), addr)
	return m != nil && m.Perm&callbacks.PermWrite == 0
}

// isShared reports whether another process may write an address, or if that is unknown.
func (s *spins) isShared(addr uint64) bool {
	shared, known := s.sharedMapping(addr)
	return shared || !known
}

// sharedMapping reports whether another process may write an address: its memory has a file and is not a module's data,
// or is shared memory with a name of its own (PR_SET_VMA). It is not known if the mapping is not.
func (s *spins) sharedMapping(addr uint64) (shared, known bool) {
	for _, m := range s.code.Mappings() {
		if addr >= m.Low.Offset && addr < m.High.Offset {
			private := m.File == "" || strings.HasPrefix(m.File, "[") && !strings.HasPrefix(m.File, "[anon_shmem:")
			return !private && !s.isModuleData(m, addr), true
		}
	}
	return false, false
}

// isModuleData reports whether a mapping is of the module around an address. Between the segments of a module, other
// memory may be mapped, too.
func (s *spins) isModuleData(m callbacks.Mapping, addr uint64) bool {
	mod := s.code.ModuleOf(addr)
	if mod == nil {
		return false
	}
	first := libc.MappingAt(s.code.Mappings(), mod.Low.Offset)
	return first == nil || first.File == m.File
}

// frameAt returns the code at pc as a frame.
func (s *spins) frameAt(pc uint64) unwind.Frame {
	return unwind.Frame{PC: pc, Exact: true, Module: s.code.ModuleOf(pc)}
}

// loopAt returns the place of a loop in the program, by one of its instructions; nil if it is unknown. That is the line
// of the innermost function around all branches and calls of the loop: the read may be in a function inlined there.
func (s *spins) loopAt(pc uint64, loop *spin.Loop) *picture.Awaited {
	at := s.code.Frames(s.frameAt(pc), stacks.KindUser)
	if len(at) == 0 {
		return nil
	}
	common := len(at) // functions around the whole loop
	for _, branch := range loop.Branches {
		around := s.code.Frames(s.frameAt(branch), stacks.KindUser)
		common = min(common, commonFrames(at, around))
	}
	at = at[len(at)-max(common, 1):]
	i := slices.IndexFunc(at, func(f picture.Frame) bool { return !strings.HasPrefix(f.File, "/usr/") })
	return &picture.Awaited{Tasks: []picture.ID{}, Loop: &at[max(i, 0)],
		Sleeps: slices.ContainsFunc(loop.Passes, rtl.Sleeps), Yields: slices.ContainsFunc(loop.Passes, rtl.Yields)}
}

// newWait returns the wait for one of some words; first is shown.
func (s *spins) newWait(words []spin.Word, first spin.Word, loop *spin.Loop) wait {
	w := wait{address: first.Address, variable: first.Address, words: words, written: loop.Written}
	names := s.wordNames(words, true)
	w.Kind, w.Name = picture.WaitFlag, strings.Join(names, " or ")
	w.Awaited = s.loopAt(first.Read, loop)
	changes := "changes nothing"
	if len(loop.Written) > 0 {
		changes = "changes nothing but " + strings.Join(s.wordNames(loop.Written, false), " and ")
	}
	w.Evidence = fmt.Sprintf("it is in a loop that reads %s and %s, and comes back to where it was",
		cmp.Or(strings.Join(names, " and "), "the word at "+picture.Hex(w.address).String()), changes)
	return w
}

// wordNames returns the names of the first of some words, each once. A word without a name has its address, except a
// single one if alone is set.
func (s *spins) wordNames(words []spin.Word, alone bool) []string {
	var names []string
	for _, w := range words {
		name := s.data.PlaceName(w.Address)
		if name == "" && (len(words) > 1 || !alone) {
			name = "the word at " + picture.Hex(w.Address).String()
		}
		if name != "" && !slices.Contains(names, name) && len(names) < maxFlags {
			names = append(names, name)
		}
	}
	return names
}

// maxFlags bounds the named words of a loop.
const maxFlags = 3
