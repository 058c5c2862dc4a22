package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// signalFrame is the function of the frame between the handler of a signal and the interrupted code.
const signalFrame = "<signal handler called>"

// explainHandler adds to a verdict where a signal's handler interrupted the thread that waits in it: only the code
// there may release the object of the wait, and it continues when the handler has returned. If the signal reported the
// end of the program, its cause is the crash.
func explainHandler(x *index, v *picture.Verdict, w *picture.Wait, what string) {
	if w.Awaited == nil || w.Awaited.Interrupted == nil {
		return
	}
	frame := *w.Awaited.Interrupted
	at, name := place(frame), handlerName(x.frames(w.Thread))
	signal, crash, crashed := strings.Cut(strings.TrimPrefix(frame.How, picture.InterruptedBy), picture.CrashedBy)
	in := "a handler of " + cmp.Or(signal, "a signal")
	if name != "" {
		in = fmt.Sprintf("%s, the handler of %s", name, cmp.Or(signal, "a signal"))
	}
	v.Explanation += fmt.Sprintf(" It waits in %s, which interrupted %s: that code goes on only when the handler has "+
		"returned.", in, at)
	v.Evidence = append(v.Evidence, "there is a signal's frame on its stack, between the handler and "+at)
	v.Fix = fmt.Sprintf("a handler must not wait for %s, which the code that it interrupts may have: let it only set "+
		"a flag (volatile sig_atomic_t) or write to a pipe, and do the work elsewhere, or block the signal "+
		"(pthread_sigmask) where it is held", what)
	if !crashed {
		return
	}
	v.Explanation = fmt.Sprintf("The program had crashed before, in %s: %s.", at, crash) + " " + v.Explanation
	if m, ok := quotedMessage(crash); ok {
		if cause := memoryMessage(m); cause != "" {
			v.Explanation = strings.Replace(v.Explanation, crash+".", crash+". "+cause, 1)
		}
	}
	v.Evidence = slices.Insert(v.Evidence, 0, fmt.Sprintf("%s crashed in %s: %s, and %s was handled",
		x.threadName(w.Thread), at, crash, signal))
	v.Fix = fmt.Sprintf("look for the cause of the crash in %s first, in a core of a run without the handler; in the "+
		"handler, call only what is safe there (write, _exit): not malloc, printf or backtrace_symbols", at)
}

// handlerName returns the name of the function that is the innermost handler of a signal on a stack, or "".
func handlerName(fs []picture.Frame) string {
	i := slices.IndexFunc(fs, func(f picture.Frame) bool { return f.Function == signalFrame })
	for i--; i >= 0; i-- {
		if fs[i].Kind == picture.FrameUser && !fs[i].Inlined {
			return phrase.WithoutParameters(fs[i].Function)
		}
	}
	return ""
}

// quotedMessage returns the message that is quoted at the end of the reason of a crash.
func quotedMessage(reason string) (string, bool) {
	_, quoted, ok := strings.Cut(reason, "after the message \"")
	return strings.TrimSuffix(quoted, "\""), ok
}
