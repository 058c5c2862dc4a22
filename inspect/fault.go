package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Fault is what is known of the access that killed the program.
type Fault struct {
	LWP     int
	Address uint64 // that was accessed
	SP      uint64 // stack pointer of the thread
	Frame   uint64 // bytes of the innermost frame; 0 if unknown
	// StackLow and StackHigh bound the thread's stack: [StackLow, StackHigh);
	// 0 if they are not known. StackBy says what they are known from.
	StackLow, StackHigh uint64
	StackBy             string
	Initial             bool // the stack is that of the process, not of a thread that was made
	Depth               int  // frames that were found, MaxFrames if there are more
	Repeats             int  // how often the innermost repeated function is among them
	Repeated            Frame
	Null                bool // the address is that of a null pointer, or of a part of what it points to
	Mapped              bool // there is memory at the address: the access was not permitted
}

// nullPage bounds what counts as an access through a null pointer: Linux maps
// nothing below vm.mmap_min_addr, 64 KiB by default.
const nullPage = 64 << 10

// guardPage is the size of the guard page that the C library has at the end of a
// stack by default.
const guardPage = 4096

// Fault describes the access that killed the program; not ok if it was not killed
// by one.
func (in *Inspector) Fault() (Fault, bool) {
	about := in.cfg.About
	n := in.byLWP[about.CrashedLWP]
	if n == nil || about.FaultAddress == nil || (about.Signal != "SIGSEGV" && about.Signal != "SIGBUS") {
		return Fault{}, false
	}
	f := Fault{LWP: n.lwp, Address: uint64(*about.FaultAddress), Initial: n.lwp == about.PID}
	f.Null = f.Address < nullPage
	if regs := in.registers(n); regs != nil {
		f.SP = regs.SP()
	}
	in.stackBounds(n, &f)
	in.repeats(n, &f)
	return f, true
}

// stackBounds finds the stack of n: as the runtime noted it, else the mapping
// that its stack pointer is in, or is just below.
func (in *Inspector) stackBounds(n *native, f *Fault) {
	if i := n.info; n.rt != nil && i.StackSize > 0 && i.StackBase.Offset > i.StackSize && !f.Initial && i.Role != rtl.RoleInitial {
		f.StackLow, f.StackHigh, f.StackBy = i.StackBase.Offset-i.StackSize, i.StackBase.Offset, "the runtime's ds_stackbase and ds_stacksize"
	}
	lister, ok := in.cfg.Target.(callbacks.MappingLister)
	if !ok {
		return
	}
	for _, m := range lister.Mappings() {
		if m.Perm != 0 && m.Low.Offset <= f.Address && f.Address < m.High.Offset {
			f.Mapped = true
		}
		if f.StackLow != 0 || m.Perm&callbacks.PermWrite == 0 || m.High.Offset <= f.SP {
			continue
		}
		f.StackLow, f.StackHigh, f.StackBy = m.Low.Offset, m.High.Offset, "the memory mapping above its stack pointer"
		if low := f.Address | (guardPage - 1); m.Low.Offset <= f.Address && low < n.pthread && n.pthread < m.High.Offset {
			// glibc since 2.42 has the guard page within the mapping, and
			// the block of the thread at the upper end of its stack.
			f.StackLow, f.StackHigh = low+1, min(m.High.Offset, (n.pthread+threadBlock)&^(guardPage-1))
			f.StackBy = "the page that it accessed, a guard within writable memory, and its thread block"
		}
	}
}

// repeats counts the function that the stack is full of, if it is.
func (in *Inspector) repeats(n *native, f *Fault) {
	st := in.stackOf(n)
	f.Depth = len(st.frames)
	if len(st.frames) > 0 && st.frames[0].CFA > f.SP {
		f.Frame = st.frames[0].CFA - f.SP
	}
	count := map[uint64]int{}
	for i, fr := range st.frames {
		if st.kinds[i] != kindUser {
			continue
		}
		low := in.functionEntry(fr)
		if count[low]++; count[low] > f.Repeats {
			f.Repeats = count[low]
			f.Repeated = in.frames(fr, kindUser)[0]
		}
	}
}
