package waits

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Units of the kernel's times, in seconds, and the largest number of seconds that is accepted, a hundred years.
const (
	nano         = 1e-9
	micro        = 1e-6
	milli        = 1e-3
	maxSleepTime = 100 * 366 * 24 * 3600
)

// sleepWait finds the call of the program in which n sleeps, until a time passes or a signal arrives.
func (nw *nativeWaits) sleepWait(n *teams.Thread, regs *callbacks.Registers) (wait, bool) {
	call, ok := arch.FindSleep(regs, nw.target)
	if !ok || !n.CalledByProgram() {
		return wait{}, false
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitSleep, Name: nw.sleepName(n, call.Name), Sleep: nw.sleepTime(call)}}
	w.Evidence = "it is in system call " + call.Name
	switch s := w.Sleep; {
	case s.Endless:
		w.Evidence += ", without a time limit"
	case s.Left != nil && call.Deadline:
		w.Evidence += fmt.Sprintf(", until a time that is %.1f s away", *s.Left)
	case s.Left != nil:
		w.Evidence += fmt.Sprintf(": when it was interrupted, the kernel wrote that %.1f s are left", *s.Left)
	case s.Seconds != nil:
		w.Evidence += fmt.Sprintf(", for %.1f s", *s.Seconds)
	}
	return w, true
}

// sleepName returns the name of the function that the program called to sleep: the outermost of the C library's,
// or the function of C++'s library that called it. It returns the name of the system call if no function has a
// name.
func (nw *nativeWaits) sleepName(n *teams.Thread, call string) string {
	if nw.code.Symbols == nil {
		return call
	}
	st, name := n.Stack(), ""
	for i, f := range st.Frames {
		function, system := nw.code.SystemFunction(f)
		if system {
			name = cmp.Or(function, name)
			continue
		}
		for _, at := range nw.code.Frames(f, st.Kinds[i]) {
			plain, _, _ := strings.Cut(at.Function, "<")
			if plain = plain[strings.LastIndexByte(plain, ' ')+1:]; slices.Contains(cxxSleeps, plain) {
				return strings.Replace(plain, "::__1::", "::", 1)
			}
		}
		break
	}
	return cmp.Or(name, call)
}

// cxxSleeps are the functions of C++'s standard library that sleep, with the names of GNU's and LLVM's libraries.
var cxxSleeps = []string{
	"std::this_thread::sleep_for", "std::this_thread::sleep_until",
	"std::__1::this_thread::sleep_for", "std::__1::this_thread::sleep_until",
}

// sleepTime reads the duration of a sleep. It reads the rest that the kernel writes on an interrupt in any case,
// so that the copy of a process contains it.
func (nw *nativeWaits) sleepTime(c arch.SleepCall) *picture.Sleep {
	s := &picture.Sleep{Endless: c.Endless}
	if c.Milliseconds > 0 {
		s.Seconds = new(float64(c.Milliseconds) * milli)
	}
	given, known := nw.readTime(c.Time, c.Micro)
	rest, left := nw.readTime(c.Rest, c.Micro)
	switch {
	case known && c.Deadline:
		if now, ok := nw.readClock(c.Clock); ok {
			s.Left = new(math.Round(max(given-now, 0)/micro) * micro)
		}
	case left && c.Interrupted:
		s.Left = &rest
	}
	if known && !c.Deadline && c.Rest != c.Time { // else the kernel may have written into it
		s.Seconds = &given
	}
	return s
}

// readClock reads a clock of the target, in seconds; not ok for a target that does not run.
func (nw *nativeWaits) readClock(clock int) (float64, bool) {
	if nw.clock == nil {
		return 0, false
	}
	ns, ok := nw.clock(clock)
	return float64(ns) * nano, ok
}

// readTime reads a struct timespec, or a struct timeval, in seconds.
func (nw *nativeWaits) readTime(at callbacks.Address, timeval bool) (float64, bool) {
	const word = 8
	unit, most := nano, uint64(1e9)
	if timeval {
		unit, most = micro, 1e6
	}
	if at.IsNull() {
		return 0, false
	}
	seconds, err1 := layout.ReadUint(nw.target, at, word)
	part, err2 := layout.ReadUint(nw.target, at.Add(word), word)
	if err1 != nil || err2 != nil || seconds > maxSleepTime || part >= most {
		return 0, false
	}
	return float64(seconds) + float64(part)*unit, true
}
