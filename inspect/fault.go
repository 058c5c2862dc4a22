package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Fault is what is known of the instruction that killed the program.
type Fault struct {
	LWP     int
	Signal  string // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP or SIGSYS
	Code    int    // si_code: why the kernel raised it
	Handled bool   // a handler of the signal was called, and ended the program by it
	// Address is what was accessed, or where the instruction is, as Signal has it;
	// meaningful only if HasAddress.
	Address    uint64
	HasAddress bool
	PC         uint64 // of the instruction
	Trap       bool   // the instruction is one that compilers put where execution must not come
	SP         uint64 // stack pointer of the thread
	Frame      uint64 // bytes of the innermost frame; 0 if unknown
	At         *Frame // innermost frame of user code at that time; nil if there is none
	// StackLow and StackHigh bound the thread's stack: [StackLow, StackHigh);
	// 0 if they are not known. StackBy says what they are known from.
	StackLow, StackHigh uint64
	StackBy             string
	Initial             bool // the stack is that of the process, not of a thread that was made
	Depth               int  // frames that were found, MaxFrames if there are more
	Repeats             int  // how often the innermost repeated function is among them
	Repeated            Frame
	Null                bool // the address is that of a null pointer, or of a part of what it points to
	// Mapping is the memory at the address, Below and Above are the next ones; nil
	// if there is none, or if it is not known.
	Mapping, Below, Above *Mapping
	// What names the variable at the address, or whose stack it is; empty if it is
	// neither.
	What string
}

// Mapping is a range of the target's memory, [Low, High).
type Mapping struct {
	Low, High uint64
	Access    string // rwx, with - for what is not permitted
	File      string // empty for memory of no file
}

// nullPage bounds what counts as an access through a null pointer: Linux maps
// nothing below vm.mmap_min_addr, 64 KiB by default.
const nullPage = 64 << 10

// maxPrefixes is more than an instruction has bytes before what tells which it is.
const maxPrefixes = 8

// guardPage is the size of the guard page that the C library has at the end of a
// stack by default.
const guardPage = 4096

// Fault describes the instruction that killed the program; not ok if none did, as
// when somebody sent the signal.
func (in *Inspector) Fault() (Fault, bool) {
	n := in.byLWP[in.cfg.About.CrashedLWP]
	if n == nil {
		return Fault{}, false
	}
	f := Fault{LWP: n.lwp, Initial: n.lwp == in.cfg.About.PID}
	st, from := in.stackOf(n), 0
	if !in.raised(&f) {
		ok := false
		if from, ok = in.handled(n, &f); !ok {
			return Fault{}, false
		}
	}
	regs := in.registers(n)
	if from > 0 {
		regs = &st.frames[from].Registers
	}
	if regs != nil {
		f.PC, f.SP = regs.PC(), regs.SP()
	}
	f.Null = f.HasAddress && f.Address < nullPage && (f.Signal == "SIGSEGV" || f.Signal == "SIGBUS")
	f.Trap = arch.IsTrap(in.cfg.Target.Arch(), in.readable(f.PC, 4))
	in.stackBounds(n, &f)
	in.surround(&f)
	in.repeats(st, from, &f)
	return f, true
}

// raised tells whether the signal that ended the program is that of a fault, and
// takes what the target tells of it.
func (in *Inspector) raised(f *Fault) bool {
	about, code := in.cfg.About, 1
	if about.SignalCode != nil {
		code = *about.SignalCode
	} else if about.FaultAddress == nil {
		return false
	}
	if !arch.IsFault(about.Signal) || code <= 0 {
		return false
	}
	f.Signal, f.Code = about.Signal, code
	if f.HasAddress = about.FaultAddress != nil; f.HasAddress {
		f.Address = uint64(*about.FaultAddress)
	}
	return true
}

// handled finds the fault whose handler ended the program, by what the kernel put on
// the stack for it: the handler is still there, or has returned to the instruction,
// after it had sent the signal again. from is the number of the frame in which the
// fault was.
func (in *Inspector) handled(n *native, f *Fault) (from int, ok bool) {
	st, regs := in.stackOf(n), in.registers(n)
	if regs == nil {
		return 0, false
	}
	var saved []byte
	i := slices.IndexFunc(st.frames, func(fr unwind.Frame) bool { return fr.Signal })
	if i >= 0 && i+1 < len(st.frames) {
		from = i + 1
		saved, regs = in.readable(st.frames[i].Registers.SP(), arch.SavedSize), &st.frames[from].Registers
	} else if sp := regs.SP(); sp > arch.SavedSpace {
		saved, _ = arch.Returned(regs, in.readable(sp-arch.SavedSpace, arch.SavedSpace))
	}
	info, ok := arch.SavedFault(in.cfg.Target.Arch(), saved, in.cfg.About.Signal, in.readable(regs.PC(), maxPrefixes))
	if !ok {
		return 0, false
	}
	name, _ := info.Fault()
	f.Signal, f.Code, f.Handled = name, info.Code, true
	f.Address, f.HasAddress = info.Address, info.HasAddress
	return from, true
}

// stackBounds finds the stack of n: as the runtime noted it, else the mapping
// that its stack pointer is in, or is just below.
func (in *Inspector) stackBounds(n *native, f *Fault) {
	if i := n.info; n.rt != nil && i.StackSize > 0 && i.StackBase.Offset > i.StackSize && !f.Initial && i.Role != rtl.RoleInitial {
		f.StackLow, f.StackHigh, f.StackBy = i.StackBase.Offset-i.StackSize, i.StackBase.Offset, "the runtime's ds_stackbase and ds_stacksize"
		return
	}
	for _, m := range in.mappings() {
		if m.Perm&callbacks.PermWrite == 0 || m.High.Offset <= f.SP {
			continue
		}
		f.StackLow, f.StackHigh, f.StackBy = m.Low.Offset, m.High.Offset, "the memory mapping above its stack pointer"
		if low := f.Address | (guardPage - 1); m.Low.Offset <= f.Address && low < n.pthread && n.pthread < m.High.Offset {
			// glibc since 2.42 has the guard page within the mapping, and
			// the block of the thread at the upper end of its stack.
			f.StackLow, f.StackHigh = low+1, min(m.High.Offset, (n.pthread+threadBlock)&^(guardPage-1))
			f.StackBy = "the page that it accessed, a guard within writable memory, and its thread block"
		}
		return
	}
}

// mappings lists the target's memory; none if that is not known.
func (in *Inspector) mappings() []callbacks.Mapping {
	if lister, ok := in.cfg.Target.(callbacks.MappingLister); ok {
		return lister.Mappings()
	}
	return nil
}

// surround finds the memory at the address and around it, and what lies there.
func (in *Inspector) surround(f *Fault) {
	if !f.HasAddress {
		return
	}
	for _, m := range in.mappings() {
		at := &Mapping{Low: m.Low.Offset, High: m.High.Offset, Access: access(m.Perm), File: m.File}
		switch {
		case at.High <= f.Address:
			f.Below = at
		case at.Low <= f.Address:
			f.Mapping = at
		case f.Above == nil:
			f.Above = at
		}
	}
	if f.Mapping != nil {
		f.What = in.placeName(f.Address)
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

// jumped tells whether there was no code where the thread wanted to go on.
func (f *Fault) jumped() bool { return f.HasAddress && f.PC == f.Address && f.Signal == "SIGSEGV" }

// repeats counts the function that the stack is full of, if it is, from the frame
// of that number on.
func (in *Inspector) repeats(st *stack, from int, f *Fault) {
	f.Depth = len(st.frames)
	if from < len(st.frames) && st.frames[from].CFA > f.SP {
		f.Frame = st.frames[from].CFA - f.SP
	}
	count := map[uint64]int{}
	for i := from; i < len(st.frames); i++ {
		if st.kinds[i] != kindUser {
			continue
		}
		fr := st.frames[i]
		if f.At == nil && !(i == from && f.jumped()) {
			f.At = &in.frames(fr, kindUser)[0]
		}
		low := in.functionEntry(fr)
		if count[low]++; count[low] > f.Repeats {
			f.Repeats = count[low]
			f.Repeated = in.frames(fr, kindUser)[0]
		}
	}
}
