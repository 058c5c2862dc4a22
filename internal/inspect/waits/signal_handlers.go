package waits

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// signalIndex returns the index of the innermost frame of a signal in a stack, or -1.
func signalIndex(st *stacks.Stack) int {
	return slices.IndexFunc(st.Frames, func(f unwind.Frame) bool { return f.Signal })
}

// interruptedFrame returns the place at which a signal interrupted the program, if n is in its handler; nil
// otherwise. Its How has the signal.
func (wf *Finder) interruptedFrame(n *teams.Thread) *picture.Frame {
	st := n.Stack()
	at := signalIndex(st)
	if at < 0 || !slices.Contains(st.Kinds[:at], stacks.KindUser) {
		return nil
	}
	for i := at + 1; i < len(st.Frames); i++ {
		if st.Kinds[i] == stacks.KindUser {
			f := *wf.Code.InnermostFrame(st.Frames[i], stacks.KindUser)
			f.How = wf.interruption(st, at, i)
			return &f
		}
	}
	return nil
}

// interruption names the signal of frame at of a stack, and the end of the program that it reports: the C library has
// called abort between that frame and frame user, or an instruction has failed. It returns "" if the signal is unknown.
func (wf *Finder) interruption(st *stacks.Stack, at, user int) string {
	aborts := wf.Code.Symbols != nil && slices.ContainsFunc(st.Frames[at+1:user], func(f unwind.Frame) bool {
		function, system := wf.Code.SystemFunction(f)
		return system && function == "abort"
	})
	if aborts {
		text := picture.InterruptedBy + unix.SignalName(unix.SIGABRT) + picture.CrashedBy + "it had called abort"
		if m := wf.Data.Library().AbortMessage(); m != "" {
			text += fmt.Sprintf(", after the message %q", m)
		}
		return text
	}
	name := unix.SignalName(unix.Signal(wf.handledSignal(st, at)))
	saved := make([]byte, arch.SavedSize)
	var code [maxInstruction]byte
	if name == "" || wf.Target.ReadMemory(callbacks.Addr(st.Frames[at].Registers.SP()), saved) != nil ||
		wf.Target.ReadMemory(callbacks.Addr(st.Frames[at+1].PC), code[:]) != nil {
		return strings.TrimSuffix(picture.InterruptedBy+name, picture.InterruptedBy)
	}
	if _, failed := arch.SavedFault(wf.Target.Arch(), saved, name, code[:]); failed && arch.IsFault(name) {
		return picture.InterruptedBy + name + picture.CrashedBy + "an instruction had failed"
	}
	return picture.InterruptedBy + name
}

// maxInstruction is the number of bytes of the longest instruction.
const maxInstruction = 15

// handledSignal returns the signal of frame at of a stack: the only one that the process handles, or the argument of
// the handler. It returns 0 if it is unknown.
func (wf *Finder) handledSignal(st *stacks.Stack, at int) int {
	handled, listed := uint64(0), false
	if s, ok := wf.Target.(callbacks.Scheduler); ok {
		handled, listed = s.HandledSignals()
		handled &^= libraryHandlers
	}
	if listed && bits.OnesCount64(handled) == 1 {
		return bits.TrailingZeros64(handled) + 1
	}
	v, ok := wf.Flows.EnteredWith(st, at-1, 0)
	if n := uint32(v); ok && n > 0 && n <= lastSignal && (!listed || handled>>(n-1)&1 != 0) {
		return int(n)
	}
	return 0
}

// lastSignal is the highest number of a signal.
const lastSignal = 64
