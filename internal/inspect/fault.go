package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// nullPage bounds what counts as an access through a null pointer: Linux maps
// nothing below vm.mmap_min_addr, 64 KiB by default.
const nullPage = 64 << 10

// maxPrefixes is more than an instruction has bytes before what tells which it is.
const maxPrefixes = 8

// guardPage is the size of the guard page that the C library has at the end of a
// stack by default.
const guardPage = 4096

// fault describes the instruction that killed the program; nil if none did, as
// when somebody sent the signal.
func (c *crash) fault() *picture.Fault {
	n := c.roster.byLWP[c.about.CrashedLWP]
	if n == nil {
		return nil
	}
	f := &picture.Fault{Thread: n.LWP, Stack: &picture.FaultStack{Initial: n.LWP == c.about.PID}}
	st, from := n.Stack(), 0
	if !c.raised(f) {
		ok := false
		if from, ok = c.handled(n, f); !ok {
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
	f.Trap = arch.IsTrap(c.target.Arch(), c.readable(number(f.PC), 4))
	c.stackBounds(n, f, from)
	c.surround(f)
	c.repeats(st, from, f)
	c.called(st, from, f)
	if c.code.Symbols != nil && f.Signal == "SIGSEGV" && !f.NullPointer {
		f.Stack.Largest = c.largest(st, from)
	}
	return f
}

// number is an address of a picture, 0 for none.
func number(h *picture.Hex) uint64 {
	if h == nil {
		return 0
	}
	return uint64(*h)
}

// raised reports whether the signal that ended the program is that of a fault, and
// takes what the target tells of it.
func (c *crash) raised(f *picture.Fault) bool {
	about, code := c.about, 1
	if about.SignalCode != nil {
		code = *about.SignalCode
	} else if about.FaultAddress == nil {
		return false
	}
	if !arch.IsFault(about.Signal) || code <= 0 {
		return false
	}
	f.Signal, f.Code = about.Signal, code
	f.Address = about.FaultAddress
	return true
}

// handled finds the fault whose handler ended the program, by what the kernel put on
// the stack for it: the handler is still there, or has returned to the instruction,
// after it had sent the signal again. from is the number of the frame in which the
// fault was.
func (c *crash) handled(n *native, f *picture.Fault) (from int, ok bool) {
	st, regs := n.Stack(), n.Registers()
	if regs == nil {
		return 0, false
	}
	var saved []byte
	i := slices.IndexFunc(st.Frames, func(fr unwind.Frame) bool { return fr.Signal })
	if i >= 0 && i+1 < len(st.Frames) {
		from = i + 1
		saved, regs = c.readable(st.Frames[i].Registers.SP(), arch.SavedSize), &st.Frames[from].Registers
	} else if sp := regs.SP(); sp > arch.SavedSpace {
		saved, _ = arch.Returned(regs, c.readable(sp-arch.SavedSpace, arch.SavedSpace))
	}
	info, ok := arch.SavedFault(c.target.Arch(), saved, c.about.Signal, c.readable(regs.PC(), maxPrefixes))
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

// stackBounds finds the stack of n: as the runtime noted it, else the mapping
// that its stack pointer is in, or is just below.
func (c *crash) stackBounds(n *native, f *picture.Fault, from int) {
	st := f.Stack
	bound := func(low, high uint64, by string) {
		st.Low, st.High, st.Source = picture.Address(low), picture.Address(high), by
	}
	noted := n.rt != nil && !st.Initial && n.info.Role != picture.RoleInitial
	if base, size := n.info.StackBase.Offset, n.info.StackSize; noted && size > 0 && base > size {
		bound(base-size, base, "the runtime's ds_stackbase and ds_stacksize")
		return
	}
	if low, high, ok := c.leftBelow(n, number(st.SP), from); ok {
		bound(low, high, "the memory mapping that its thread block is in, where a frame of it begins")
		return
	}
	accessed := number(f.Address)
	for _, m := range stacks.MappingsOf(c.target) {
		if m.Perm&callbacks.PermWrite == 0 || m.High.Offset <= number(st.SP) {
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

// leftBelow finds the stack of a thread whose stack pointer is below it, perhaps in memory of
// others, as with an array that is larger than the stack: the thread block is at the stack's upper
// end, and a frame begins in it, from which those further in, up to that whose number is from, are
// below it.
func (c *crash) leftBelow(n *native, sp uint64, from int) (low, high uint64, ok bool) {
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

// surround finds the memory at the address and around it, and what lies there.
func (c *crash) surround(f *picture.Fault) {
	if f.Address == nil {
		return
	}
	near := picture.Nearby{}
	for _, m := range stacks.MappingsOf(c.target) {
		at := &picture.Mapping{
			Low: picture.Hex(m.Low.Offset), High: picture.Hex(m.High.Offset), Access: access(m.Perm), File: m.File,
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

// access is rwx, with - for what is not permitted.
func access(p callbacks.Perm) string {
	b := []byte("---")
	for i, bit := range []callbacks.Perm{callbacks.PermRead, callbacks.PermWrite, callbacks.PermExec} {
		if p&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

// jumped reports whether there was no code where the thread wanted to go on.
func jumped(f *picture.Fault) bool {
	return f.Address != nil && number(f.PC) == uint64(*f.Address) && f.Signal == "SIGSEGV"
}

// repeats counts the function that the stack is full of, if it is, from the frame
// of that number on.
func (c *crash) repeats(st *stacks.Stack, from int, f *picture.Fault) {
	f.Stack.Truncated = len(st.Frames) >= stacks.MaxFrames
	f.Stack.FrameSize = frameSize(st, from, number(f.Stack.SP))
	count := map[uint64]int{}
	for i := from; i < len(st.Frames); i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		fr := st.Frames[i]
		if f.Frame == nil && !(i == from && jumped(f)) {
			f.Frame = c.code.InnermostFrame(fr, stacks.KindUser)
		}
		low := c.code.FunctionEntry(fr)
		if count[low]++; count[low] > f.Stack.Repeats {
			f.Stack.Repeats = count[low]
			f.Stack.Repeated = c.code.InnermostFrame(fr, stacks.KindUser)
		}
	}
}

// frameSize is the size of the innermost frame of user code from that of the number on, or of
// that frame itself if there is none; 0 if it is not known.
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
