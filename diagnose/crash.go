package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
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
func crashes(g *graph) []inspect.Verdict {
	var v inspect.Verdict
	f, fault := g.in.Fault()
	a, aborted := g.in.Abort()
	switch {
	case fault && overflows(f):
		v = g.overflow(f)
	case fault && f.Null:
		v = g.null(f)
	case fault:
		v = g.fault(f)
	case aborted && a.By != "":
		v = g.aborted(a)
	default:
		return nil
	}
	g.openMPPlace(&v)
	g.holdsUp(&v)
	if f.Handled {
		v.Evidence = append(v.Evidence, "a handler of the signal was called, and ended the program by it: what the kernel saved for the handler is on the stack")
	}
	return []inspect.Verdict{v}
}

// aborted is the verdict on a program that the C library or a runtime has ended.
func (g *graph) aborted(a inspect.Abort) inspect.Verdict {
	caller := place(a.Caller)
	if a.Caller.Function == "" && a.Caller.Module != "" {
		caller = a.Caller.Module
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictCrash, Severity: inspect.SeverityCrash, Certainty: inspect.Certain, Threads: []int{a.LWP},
		Summary:  fmt.Sprintf("%s: %s ended the program", g.who(a.LWP), a.By),
		Evidence: []string{"abort was called in " + caller},
	}
	if fr, ok := innermost(g.frames(a.LWP)); ok {
		v.Summary += ", called in " + place(fr)
	}
	if a.Message == "" {
		v.Explanation = "What it said before is on the program's standard error; it was not found in memory."
		return v
	}
	v.Explanation = "It said: " + a.Message
	v.Evidence = append(v.Evidence, "the message: "+a.MessageBy)
	return v
}

// holdsUp adds to a crash what the thread that died has and others wait for.
func (g *graph) holdsUp(v *inspect.Verdict) {
	died := node{lwp: v.Threads[0]}
	for _, lwp := range g.order {
		w := g.waits[lwp]
		i := slices.IndexFunc(g.node(node{lwp: lwp}).all, func(e edge) bool { return e.to == died })
		if i < 0 || g.locks[lwp] == nil { // it waits for the thread, and not for what that has
			continue
		}
		v.Behind = append(v.Behind, lwp)
		v.Evidence = append(v.Evidence, fmt.Sprintf("it has %s, which %s waits for: %s", describe(g.target(w)), g.who(lwp), g.node(node{lwp: lwp}).all[i].evidence))
	}
	if len(v.Behind) > 0 {
		v.Explanation = strings.TrimSpace(v.Explanation + " It died in the middle of what it had locked; who waits for that has no part in it.")
	}
}

// overflows tells whether the access was one of a stack that is used up: below
// its end, where the thread's own frames are or were about to be.
func overflows(f inspect.Fault) bool {
	if !f.HasAddress { // the kernel found no room for the frame of a signal's handler
		return f.Signal == "SIGSEGV" && f.Code == codeKernel && f.StackLow != 0 && f.SP != 0 && f.SP < f.StackLow+handlerRoom
	}
	return f.StackLow != 0 && f.SP != 0 && f.Address < f.StackLow && f.Address+nearStack >= f.SP && f.SP < f.StackLow+nearStack
}

func (g *graph) overflow(f inspect.Fault) inspect.Verdict {
	v := inspect.Verdict{
		Kind: inspect.VerdictStackOverflow, Severity: inspect.SeverityCrash, Certainty: inspect.Certain, Threads: []int{f.LWP},
		Summary:  fmt.Sprintf("%s used up its stack of %s", g.who(f.LWP), bytes(f.StackHigh-f.StackLow)),
		Evidence: []string{overflowed(f), fmt.Sprintf("its stack pointer is %v", inspect.Hex(f.SP))},
	}
	if !f.HasAddress && f.SP >= f.StackLow {
		v.Certainty = inspect.Likely
	}
	more := bytes(4 * (f.StackHigh - f.StackLow))
	switch {
	case f.Repeats >= recursion:
		n := fmt.Sprint(f.Repeats)
		if f.Depth >= inspect.MaxFrames {
			n = "more than " + n
		}
		v.Explanation = fmt.Sprintf("%s is on it %s times: it calls itself without end, or deeper than the stack is.", place(f.Repeated), n)
	case f.Frame >= hugeFrame:
		at := ""
		if f.At != nil {
			at = " of " + place(*f.At)
		}
		v.Explanation = fmt.Sprintf("The one frame%s has %s: large arrays are on the stack.", at, bytes(f.Frame))
		more = bytes(2 * max(f.Frame, f.StackHigh-f.StackLow))
	default:
		v.Explanation = "Its functions need more stack than it has: large local arrays, private copies of arrays, or deep recursion."
	}
	if f.Initial {
		v.Cure = "raise the limit of the process's stack: ulimit -s unlimited; or put large arrays on the heap. OMP_STACKSIZE is for worker threads only"
		return v
	}
	v.Cure = fmt.Sprintf("set OMP_STACKSIZE=%s (worker threads have %s now), or put large arrays on the heap", more, bytes(f.StackHigh-f.StackLow))
	return v
}

// overflowed says how it is known that a stack is used up.
func overflowed(f inspect.Fault) string {
	stack := fmt.Sprintf("its stack [%v, %v), known from %s", inspect.Hex(f.StackLow), inspect.Hex(f.StackHigh), f.StackBy)
	switch {
	case f.HasAddress:
		return fmt.Sprintf("it accessed %v, %s below the end of %s", inspect.Hex(f.Address), bytes(f.StackLow-f.Address), stack)
	case f.SP >= f.StackLow:
		return fmt.Sprintf("%s are left of %s: the kernel found no room to call the handler of SIGSEGV", bytes(f.SP-f.StackLow), stack)
	}
	return fmt.Sprintf("it is %s below the end of %s: the kernel found no room to call the handler of SIGSEGV", bytes(f.StackLow-f.SP), stack)
}

func (g *graph) frames(lwp int) []inspect.Frame {
	if t := g.threads[lwp]; t != nil {
		return t.UserStack
	}
	return nil
}

// null is the verdict on an access through a null pointer.
func (g *graph) null(f inspect.Fault) inspect.Verdict {
	v := inspect.Verdict{
		Kind: inspect.VerdictCrash, Severity: inspect.SeverityCrash, Certainty: inspect.Certain, Threads: []int{f.LWP},
		Summary:  fmt.Sprintf("%s used a null pointer", g.who(f.LWP)),
		Evidence: []string{fmt.Sprintf("the access was to address %v; nothing is mapped there", inspect.Hex(f.Address))},
	}
	if f.At != nil {
		v.Summary += " in " + place(*f.At)
	}
	if f.Address != 0 {
		v.Explanation = fmt.Sprintf("It accessed what lies %d bytes behind the begin of an object whose address is null.", f.Address)
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
