package inspect

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// deadStack is how far below the stack pointer the functions are looked for
	// that have returned, in bytes: printing a message takes less.
	deadStack = 16 << 10
	// abortFrames bounds the frames of a runtime that ends the program, in bytes.
	abortFrames = 16 << 10
	// maxAbortMessage bounds the message that the C library keeps.
	maxAbortMessage = 4 << 10
)

// cxxLibrary is who ends programs whose exceptions nobody catches.
const cxxLibrary = "the C++ library"

// crash finds how the program was ended.
type crash struct {
	target callbacks.Target
	about  *picture.Target
	roster *roster
	code   *stacks.Code
	data   *stacks.Data
}

// abort describes how the program was ended by abort, called by the C library, the
// C++ library, an OpenMP runtime or the program itself; not ok if it was not.
func (c *crash) abort() (picture.Abort, bool) {
	n := c.roster.byLWP[c.about.CrashedLWP]
	if n == nil || c.about.Signal != "SIGABRT" || !n.InFunction("abort") {
		return picture.Abort{}, false
	}
	st := n.Stack()
	caller := outsideLibrary(st, 0)
	if caller < 0 {
		return c.alone(n, st)
	}
	a := picture.Abort{Thread: n.LWP, Caller: *c.code.InnermostFrame(st.Frames[caller], st.Kinds[caller])}
	c.inHandler(st, caller, &a)
	if a.Message = c.libraryMessage(); a.Message != "" {
		a.Component, a.MessageSource = "the C library", "its variable __abort_msg"
		return a, true
	}
	if st.Kinds[caller] == stacks.KindUser {
		if m := st.Frames[caller].Module; m != nil && isCXXLibrary(m) {
			a.Component = cxxLibrary
			c.cxxCall(st, &a)
		}
		return a, true
	}
	for _, rt := range c.roster.runtimes {
		if !rt.Owns(st.Frames[caller].LookupPC()) {
			continue
		}
		a.Component = "the " + rt.Identity().Name
		if r, ok := rt.Runtime.(rtl.AbortMessageReader); ok {
			if a.Message = r.AbortMessage(c.leftovers(n, st, caller)); a.Message != "" {
				a.MessageSource = "what is left on the stack of the function that printed it"
			}
		}
		return a, true
	}
	return picture.Abort{}, false
}

// alone is an abort of the C library where nothing else is on the stack, as where a thread ends.
func (c *crash) alone(n *native, st *stacks.Stack) (picture.Abort, bool) {
	a := picture.Abort{Thread: n.LWP, Component: "the C library", MessageSource: "its variable __abort_msg"}
	a.Message = c.libraryMessage()
	if m := st.Frames[0].Module; m != nil {
		a.Caller = picture.Frame{Kind: picture.FrameSystem, Module: filepath.Base(m.Path)}
	}
	return a, a.Message != ""
}

// outsideLibrary is the number of the first frame from number from on that is not the C
// library's, or -1.
func outsideLibrary(st *stacks.Stack, from int) int {
	for i := from; i < len(st.Frames); i++ {
		if m := st.Frames[i].Module; !st.Frames[i].Signal && (m == nil || !libc.IsSystem(m.Path)) {
			return i
		}
	}
	return -1
}

// inHandler says of an abort by the handler of a signal, which frame number caller is in or was
// called by, whose signal that was: the program called abort before, or it was sent.
func (c *crash) inHandler(st *stacks.Stack, caller int, a *picture.Abort) {
	i := slices.IndexFunc(st.Frames, func(f unwind.Frame) bool { return f.Signal })
	if i < caller || i+1 >= len(st.Frames) || c.code.Symbols == nil {
		return
	}
	before := outsideLibrary(st, i+1)
	for _, f := range st.Frames[i+1 : max(before, i+1)] {
		if name, _, ok := c.code.Symbols.Exported(f.LookupPC()); ok && name == "abort" {
			a.Caller = *c.code.InnermostFrame(st.Frames[before], st.Kinds[before])
			return
		}
	}
	a.Handler = &picture.SignalHandler{}
	if before >= 0 {
		a.Handler.Interrupted = c.code.InnermostFrame(st.Frames[before], st.Kinds[before])
	}
	info, ok := arch.SavedSignal(c.target.Arch(), c.readable(st.Frames[i].Registers.SP(), arch.SavedSize))
	if ok && info.Sender > 0 { // the handler asked for it
		a.Handler.Signal, a.Handler.Sender = info.Signal, info.Sender
	}
}

// cxxCall says by which call of the program the C++ library came to end it.
func (c *crash) cxxCall(st *stacks.Stack, a *picture.Abort) {
	for i, f := range st.Frames {
		m := f.Module
		if m == nil || libc.IsSystem(m.Path) {
			continue
		}
		name := c.code.CallTarget(f.PC)
		switch {
		case name == "_Unwind_ForcedUnwind":
			a.Call = "pthread_exit"
		case i+1 < len(st.Frames) && c.code.CallTarget(st.Frames[i+1].PC) == clangTerminates:
			a.Call = clangTerminates // no exception of C++, or it would have been found
		case !libc.IsLanguage(m.Path):
			if name == "" && i > 0 { // a call through a pointer
				name, _, _ = c.code.Symbols.Exported(st.Frames[i-1].LookupPC())
			}
			fs := c.code.Frames(f, st.Kinds[i])
			a.Caller = *stacks.ProgramCode(fs)
			if a.Call = cmp.Or(a.Call, symbolize.Demangle(name)); unjoined(fs) {
				a.Call = "std::thread::~thread"
			}
			return
		}
	}
}

// clangTerminates is what code of clang's calls where an exception may not go on.
const clangTerminates = "__clang_call_terminate"

// unjoined reports whether code is inlined that ends a std::thread which was not joined.
func unjoined(fs []picture.Frame) bool {
	return slices.ContainsFunc(fs, func(f picture.Frame) bool {
		return f.Function == "std::thread::~thread()" || strings.HasPrefix(f.Function, "std::thread::operator=")
	})
}

// isCXXLibrary tells the libraries that end programs whose exceptions nobody catches.
func isCXXLibrary(m *callbacks.Module) bool {
	base := filepath.Base(m.Path)
	return strings.HasPrefix(base, "libstdc++.so") || strings.HasPrefix(base, "libc++abi.so") ||
		strings.HasPrefix(base, "libc++.so")
}

// libraryMessage is what the C library said before it called abort: at a failed
// assertion, or when it found the heap or a stack damaged. It is empty if it did
// not.
func (c *crash) libraryMessage() string {
	at, err := c.target.Symbol("__abort_msg", "")
	if err != nil {
		return ""
	}
	var pointer [8]byte
	if c.target.ReadMemory(at, pointer[:]) != nil || callbacks.Word(pointer[:]) == 0 {
		return ""
	}
	const text = 4 // behind the size of its memory (struct abort_msg_s)
	b := c.readable(callbacks.Word(pointer[:])+text, maxAbortMessage)
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(b[:end])), "\n", "; ")
}

// leftovers is the memory of n's stack from where functions were that have
// returned to the end of the runtime's frames from caller on.
func (c *crash) leftovers(n *native, st *stacks.Stack, caller int) []byte {
	sp, end := n.Registers().SP(), uint64(0)
	for i := caller; i < len(st.Frames) && st.Kinds[i] == stacks.KindRuntime; i++ {
		end = st.Frames[i].CFA
	}
	if end <= sp {
		return nil
	}
	low := sp - min(sp, deadStack)
	return c.readable(low, min(end-low, deadStack+abortFrames))
}

// readable is the memory at addr, with zeros where it cannot be read.
func (c *crash) readable(addr, size uint64) []byte {
	const piece = 256
	b := make([]byte, size)
	for at := uint64(0); at < size; at += piece {
		part := b[at:min(at+piece, size)]
		if c.target.ReadMemory(callbacks.At(addr+at), part) != nil {
			clear(part)
		}
	}
	return b
}
