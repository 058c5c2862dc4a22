package crash

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// nullPage bounds the addresses that count as an access through a null pointer: Linux maps no memory below
// vm.mmap_min_addr, 64 KiB by default.
const nullPage = 64 << 10

// maxPrefixes is more than the number of bytes before an instruction's opcode.
const maxPrefixes = 8

// guardPage is the default size of the guard page at the end of a stack.
const guardPage = 4096

// Fault describes the instruction that killed the program; nil if no instruction did, as when the signal was sent.
func (c *Finder) Fault() *picture.Fault {
	n := c.threads.ByLWP[c.about.CrashedLWP]
	if n == nil {
		return nil
	}
	f := &picture.Fault{Thread: n.LWP, Stack: &picture.FaultStack{Initial: n.LWP == c.about.PID}}
	st, from := n.Stack(), 0
	if !c.isRaised(f) {
		ok := false
		if from, ok = c.findHandled(n, f); !ok {
			return nil
		}
	}
	regs := n.Registers()
	if from > 0 {
		regs = &st.Frames[from].Registers
	}
	if regs != nil {
		pc := picture.Hex(regs.PC())
		f.PC, f.Stack.SP = &pc, picture.Address(regs.SP())
	}
	f.NullPointer = f.Address != nil && *f.Address < nullPage && (f.Signal == "SIGSEGV" || f.Signal == "SIGBUS")
	f.Trap = arch.IsTrap(c.target.Arch(), c.readPadded(addressOf(f.PC), 4))
	c.stackBounds(n, f, from)
	c.addMemory(f)
	c.addRepeats(st, from, f)
	c.addCaller(st, from, f)
	f.Dead = c.deadVariables(n, from)
	f.NullVariable = c.nullVariable(n, f, from)
	if c.code.Symbols != nil && f.Signal == "SIGSEGV" && !f.NullPointer {
		f.Stack.Largest = c.largestLocal(st, from)
	}
	return f
}

// addressOf returns an address of a picture, nil for 0.
func addressOf(h *picture.Hex) uint64 {
	if h == nil {
		return 0
	}
	return uint64(*h)
}

// isRaised reports whether the signal that ended the program is a fault's. It adds the target's data about it.
func (c *Finder) isRaised(f *picture.Fault) bool {
	code, ok := stacks.RaisedFault(c.about)
	if ok {
		f.Signal, f.Code, f.Address = c.about.Signal, code, c.about.FaultAddress
	}
	return ok
}

// findHandled finds a fault with a handler that ended the program, by the kernel's signal frame on the stack. The
// handler is still there, or has returned to the instruction after it sent the signal again. from is the index of
// the faulting frame.
func (c *Finder) findHandled(n *teams.Thread, f *picture.Fault) (from int, ok bool) {
	st, regs := n.Stack(), n.Registers()
	if regs == nil {
		return 0, false
	}
	var saved []byte
	i := slices.IndexFunc(st.Frames, func(fr unwind.Frame) bool { return fr.Signal })
	if i >= 0 && i+1 < len(st.Frames) {
		from = i + 1
		saved, regs = c.readPadded(st.Frames[i].Registers.SP(), arch.SavedSize), &st.Frames[from].Registers
	} else if sp := regs.SP(); sp > arch.SavedSpace {
		saved, _ = arch.Returned(regs, c.readPadded(sp-arch.SavedSpace, arch.SavedSpace))
	}
	info, ok := arch.SavedFault(c.target.Arch(), saved, c.about.Signal, c.readPadded(regs.PC(), maxPrefixes))
	if !ok {
		return 0, false
	}
	name, _ := info.Fault()
	f.Signal, f.Code, f.Handled = name, info.Code, true
	if at := picture.Hex(info.Address); info.HasAddress {
		f.Address = &at
	}
	return from, true
}

// stackBounds finds the stack of n: by the runtime's record, else as the mapping around or just above its stack
// pointer.
func (c *Finder) stackBounds(n *teams.Thread, f *picture.Fault, from int) {
	st := f.Stack
	bound := func(low, high uint64, by string) {
		st.Low, st.High, st.Source = picture.Address(low), picture.Address(high), by
	}
	noted := n.Runtime != nil && !st.Initial && n.Info.Role != picture.RoleInitial
	if base, size := n.Info.StackBase.Offset, n.Info.StackSize; noted && size > 0 && base > size {
		bound(base-size, base, "the runtime's ds_stackbase and ds_stacksize")
		return
	}
	if low, high, ok := c.stackAbove(n, addressOf(st.SP), from); ok {
		bound(low, high, "the memory mapping that its thread block is in, where a frame of it begins")
		return
	}
	accessed := addressOf(f.Address)
	for _, m := range stacks.MappingsOf(c.target) {
		if m.Perm&callbacks.PermWrite == 0 || m.High.Offset <= addressOf(st.SP) {
			continue
		}
		bound(m.Low.Offset, m.High.Offset, "the memory mapping above its stack pointer")
		if low := accessed | (guardPage - 1); m.Low.Offset <= accessed && low < n.Pthread && n.Pthread < m.High.Offset {
			// glibc since 2.42 has the guard page within the mapping, and
			// the block of the thread at the upper end of its stack.
			bound(low+1, min(m.High.Offset, libc.BlockEnd(n.Pthread)&^(guardPage-1)),
				"the page that it accessed, a guard within writable memory, and its thread block")
		}
		return
	}
}

// stackAbove finds the stack of a thread with a stack pointer below it, perhaps in another thread's memory, as
// with an array that is larger than the stack. The thread block is at the stack's upper end, one frame starts in
// it, and the frames from there down to index from are below it.
func (c *Finder) stackAbove(n *teams.Thread, sp uint64, from int) (low, high uint64, ok bool) {
	for _, m := range stacks.MappingsOf(c.target) {
		if m.Low.Offset > n.Pthread || n.Pthread >= m.High.Offset || m.Perm&callbacks.PermWrite == 0 {
			continue
		}
		low, high = m.Low.Offset, min(m.High.Offset, libc.BlockEnd(n.Pthread))
		frames := n.Stack().Frames
		i := slices.IndexFunc(frames[min(from, len(frames)):], func(f unwind.Frame) bool { return f.CFA > low })
		return low, high, sp < low && i >= 0 && frames[from+i].CFA < high
	}
	return 0, 0, false
}

// addMemory adds the mappings at the address and around it, and the data there.
func (c *Finder) addMemory(f *picture.Fault) {
	if f.Address == nil {
		return
	}
	near := picture.Nearby{}
	for _, m := range stacks.MappingsOf(c.target) {
		at := &picture.Mapping{
			Low: picture.Hex(m.Low.Offset), High: picture.Hex(m.High.Offset), Access: accessText(m.Perm), File: m.File,
		}
		switch {
		case at.High <= *f.Address:
			near.Below = at
		case at.Low <= *f.Address:
			near.Mapping = at
		case near.Above == nil:
			near.Above = at
		}
	}
	if near.Mapping != nil {
		near.Description = c.data.PlaceName(uint64(*f.Address))
	}
	if near != (picture.Nearby{}) {
		f.Memory = &near
	}
}

// accessText returns permissions as rwx, with - for missing ones.
func accessText(p callbacks.Perm) string {
	b := []byte("---")
	for i, bit := range []callbacks.Perm{callbacks.PermRead, callbacks.PermWrite, callbacks.PermExec} {
		if p&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

// isJump reports whether the thread jumped to an address without code.
func isJump(f *picture.Fault) bool {
	return f.Address != nil && addressOf(f.PC) == uint64(*f.Address) && f.Signal == "SIGSEGV"
}

// addRepeats counts the function that has the most frames from index from on.
func (c *Finder) addRepeats(st *stacks.Stack, from int, f *picture.Fault) {
	f.Stack.Truncated = len(st.Frames) >= stacks.MaxFrames
	f.Stack.FrameSize = frameSize(st, from, addressOf(f.Stack.SP))
	count := map[uint64]int{}
	for i := from; i < len(st.Frames); i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		fr := st.Frames[i]
		if f.Frame == nil && !(i == from && isJump(f)) {
			f.Frame = c.code.InnermostFrame(fr, stacks.KindUser)
		}
		low := c.code.FunctionEntry(fr)
		if count[low]++; count[low] > f.Stack.Repeats {
			f.Stack.Repeats = count[low]
			f.Stack.Repeated = c.code.InnermostFrame(fr, stacks.KindUser)
		}
	}
}

// frameSize returns the size of the innermost frame of user code from index from on, or of frame from without such
// a frame. It is 0 if it is unknown.
func frameSize(st *stacks.Stack, from int, sp uint64) uint64 {
	if from >= len(st.Frames) {
		return 0
	}
	i := max(slices.Index(st.Kinds[from:], stacks.KindUser), 0) + from
	end := sp
	if i > from {
		end = st.Frames[i-1].CFA
	}
	return st.Frames[i].CFA - min(end, st.Frames[i].CFA)
}
