package diagnose

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// nearStack is how far beyond its stack pointer a function may touch its
	// stack before it moves the pointer: calls, the red zone, and probes.
	nearStack = 64 << 10
	// handlerRoom is what the kernel needs on a stack to call the handler of a
	// signal: the registers of x86-64 with all extensions take 11 KiB.
	handlerRoom = 12 << 10
	// recursion is how often a function must be on a stack for the stack to be
	// full of it.
	recursion = 50
	// hugeFrame is the size of a single frame that is worth naming, in bytes.
	hugeFrame = 256 << 10
)

// crashes tells why the program died.
func crashes(d *drawer) []picture.Verdict {
	var v picture.Verdict
	handled := false
	switch a := d.facts.Abort; {
	case d.facts.Fault != nil:
		f := faultOf(d.facts.Fault)
		v, handled = d.died(f), f.Handled
	case a != nil && a.Exception != nil:
		v = d.escaped(a.Thread, a.Exception)
	case a != nil && a.Component != "":
		v = d.aborted(a)
	default:
		return nil
	}
	d.openMPPlace(&v)
	d.holdsUp(&v)
	if handled {
		v.Evidence = append(v.Evidence, "a handler for the signal ran and raised it again: the context that the "+
			"kernel saved for the handler is on the stack")
	}
	return []picture.Verdict{v}
}

// died is the verdict on a program that a fault has ended.
func (d *drawer) died(f *fault) picture.Verdict {
	switch {
	case overflows(f):
		return d.overflow(f)
	case f.NullPointer:
		return d.null(f)
	}
	return d.fault(f)
}

// aborted is the verdict on a program that the C library or a runtime has ended.
func (d *drawer) aborted(a *picture.Abort) picture.Verdict {
	caller := place(a.Caller)
	if a.Caller.Function == "" && a.Caller.Module != "" {
		caller = a.Caller.Module
	}
	if a.Caller.Kind == picture.FrameSystem {
		caller += ", and no other code is on the stack, as where a thread ends"
	}
	v := picture.Verdict{
		Kind: picture.VerdictCrash, Severity: picture.SeverityCrash, Certainty: picture.Certain,
		Threads:  []int{a.Thread},
		Summary:  fmt.Sprintf("%s: %s ended the program", d.who(a.Thread), a.Component),
		Evidence: []string{"abort was called in " + caller},
	}
	if a.Call != "" {
		return d.terminated(a, v)
	}
	if fr, ok := innermost(d.frames(a.Thread)); ok {
		v.Summary += ", called in " + place(fr)
	}
	if a.Message == "" {
		v.Explanation = "Its message went to the program's standard error; it was not found in memory."
		return v
	}
	v.Explanation = "Its message: " + a.Message
	if said := ofMemory(a.Message); said != "" && a.MessageSource != "" {
		v.Explanation += ". " + said
		v.Fix = findWrite
	}
	v.Evidence = append(v.Evidence, "the message: "+a.MessageSource)
	return v
}

// holdsUp adds to a crash what the thread that died has and others wait for.
func (d *drawer) holdsUp(v *picture.Verdict) {
	died := node{lwp: v.Threads[0]}
	for _, lwp := range d.order {
		if d.locks[lwp] == nil { // it waits for the thread, and not for what that holds
			continue
		}
		how, waits := d.edgeTo(node{lwp: lwp}, died)
		if !waits {
			continue
		}
		v.Waiting = append(v.Waiting, lwp)
		v.Evidence = append(v.Evidence, fmt.Sprintf("it holds %s, which %s waits for: %s",
			phrase.Awaited(d.target(d.waits[lwp])), d.who(lwp), how.evidence))
	}
	if len(v.Waiting) > 0 {
		v.Explanation = strings.TrimSpace(v.Explanation + " It died while it held a lock; the threads that wait " +
			"for that lock are not the cause.")
	}
}

// overflows reports whether the access was one of a stack that is used up: below
// its end, where the thread's own frames are or were about to be.
func overflows(f *fault) bool {
	if !f.hasAddress { // the kernel found no room for the frame of a signal's handler
		return f.Signal == "SIGSEGV" && f.Code == codeKernel && f.low != 0 && f.sp != 0 && f.sp < f.low+handlerRoom
	}
	return f.low != 0 && f.sp != 0 && f.address < f.low && f.address+nearStack >= f.sp && f.sp < f.low+nearStack
}

func (d *drawer) overflow(f *fault) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictStackOverflow, Severity: picture.SeverityCrash, Certainty: picture.Certain,
		Threads:  []int{f.Thread},
		Summary:  fmt.Sprintf("%s overflowed its stack of %s", d.who(f.Thread), bytes(f.stackSize())),
		Evidence: []string{overflowed(f), fmt.Sprintf("its stack pointer is %v", picture.Hex(f.sp))},
	}
	if !f.hasAddress && f.sp >= f.low {
		v.Certainty = picture.Likely
	}
	if f.Frame != nil && f.Repeats < recursion {
		v.Summary += " in " + place(*f.Frame)
	}
	more := bytes(4 * f.stackSize())
	switch {
	case f.Repeats >= recursion:
		n := fmt.Sprint(f.Repeats)
		if f.Truncated {
			n = "more than " + n
		}
		v.Explanation = fmt.Sprintf("%s is on the stack %s times: the recursion is endless, or deeper than the "+
			"stack allows.", place(*f.Repeated), n)
	case f.FrameSize >= min(hugeFrame, f.stackSize()):
		at := ""
		if f.Frame != nil {
			at = " of " + place(*f.Frame)
		}
		v.Explanation = fmt.Sprintf("The frame%s alone takes %s: %s.", at, bytes(f.FrameSize), f.largeArrays())
		more = bytes(2 * max(f.FrameSize, f.stackSize()))
	default:
		v.Explanation = "Its functions need more stack than it has: large local arrays, private copies of arrays, " +
			"or deep recursion."
	}
	raise := fmt.Sprintf("set OMP_STACKSIZE=%s (worker threads have %s now)", more, bytes(f.stackSize()))
	if f.Initial {
		raise = "raise the stack limit of the process (ulimit -s unlimited; OMP_STACKSIZE applies to worker " +
			"threads only)"
	}
	v.Fix = raise + ", or put large arrays on the heap"
	if f.Repeats >= recursion {
		v.Fix = "look at what ends the recursion; if it is meant to be as deep, " + raise
	}
	return v
}

// largeArrays says what makes a frame large.
func (f *fault) largeArrays() string {
	const most = 2 // a variable takes the half of it at least
	if l := f.Largest; l != nil && l.Size >= f.FrameSize/most {
		s := fmt.Sprintf("its variable %s takes %s", l.Name, bytes(l.Size))
		if l.Line != 0 {
			s += fmt.Sprintf(" (%s:%d)", base(l.File), l.Line)
		}
		return s
	}
	return "it has large arrays on the stack"
}

// where is where a fault was: in the program's own code, or in what that had called.
func (f *fault) where() string {
	switch {
	case f.Callee != nil && f.Caller != nil:
		return " in " + calleeName(f.Callee) + ", called at " + place(*f.Caller)
	case f.Callee != nil:
		return " in " + calleeName(f.Callee) + ", called at the end of a function (a tail call)"
	case f.Frame != nil:
		return " in " + place(*f.Frame)
	}
	return ""
}

func calleeName(c *picture.Callee) string {
	name, module := phrase.WithoutParameters(c.Function), c.Module
	if name != "" && module != "" {
		module = " (" + module + ")"
	}
	return cmp.Or(name+module, "a function")
}

// overflowed says how it is known that a stack is used up.
func overflowed(f *fault) string {
	stack := fmt.Sprintf("its stack [%v, %v), taken from %s", picture.Hex(f.low), picture.Hex(f.high), f.Source)
	switch {
	case f.hasAddress:
		return fmt.Sprintf("it accessed %v, %s below the end of %s", picture.Hex(f.address),
			bytes(f.low-f.address), stack)
	case f.sp >= f.low:
		return fmt.Sprintf("only %s are left of %s: the kernel had no room to call the handler of SIGSEGV",
			bytes(f.sp-f.low), stack)
	}
	return fmt.Sprintf("it is %s below the end of %s: the kernel had no room to call the handler of SIGSEGV",
		bytes(f.low-f.sp), stack)
}

// null is the verdict on an access through a null pointer.
func (d *drawer) null(f *fault) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictCrash, Severity: picture.SeverityCrash, Certainty: picture.Certain,
		Threads:  []int{f.Thread},
		Summary:  fmt.Sprintf("%s dereferenced a null pointer", d.who(f.Thread)),
		Evidence: []string{fmt.Sprintf("it accessed address %v; nothing is mapped there", picture.Hex(f.address))},
	}
	v.Summary += f.where()
	if f.address != 0 {
		v.Explanation = fmt.Sprintf("It accessed offset %d of an object whose address is null.", f.address)
	}
	return v
}

// bytes is a size as OMP_STACKSIZE has it: 4M, 64K, 100B. It is rounded to what
// people would have asked for: runtimes add a little to a stack.
func bytes(n uint64) string {
	for _, u := range []struct {
		size uint64
		name string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if whole := n / u.size; whole > 0 && (n%u.size < n/64 || whole >= 10) {
			return strconv.FormatUint(whole, 10) + u.name
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

// stackSize is the size of the stack, without what a runtime adds to what was asked for:
// each further stack may be a little larger than the one before.
func (f *fault) stackSize() uint64 {
	size := f.high - f.low
	for unit := uint64(1) << 62; unit >= 1<<10; unit >>= 1 {
		if unit <= size && size%unit < size/16 {
			return size - size%unit
		}
	}
	return size
}

// fault is a fault with its numbers as such: 0 where they are not known.
type fault struct {
	*picture.Fault
	*picture.FaultStack
	*picture.Nearby
	address, pc, sp uint64
	low, high       uint64 // of the stack
	hasAddress      bool
}

func faultOf(f *picture.Fault) *fault {
	number := func(h *picture.Hex) uint64 {
		if h == nil {
			return 0
		}
		return uint64(*h)
	}
	out := &fault{Fault: f, FaultStack: f.Stack, Nearby: f.Memory, address: number(f.Address), pc: number(f.PC),
		hasAddress: f.Address != nil}
	if out.FaultStack == nil {
		out.FaultStack = &picture.FaultStack{}
	}
	if out.Nearby == nil {
		out.Nearby = &picture.Nearby{}
	}
	out.sp, out.low, out.high = number(out.SP), number(out.Low), number(out.High)
	return out
}
