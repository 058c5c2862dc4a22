package crash

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// deadStack bounds the search below the stack pointer for frames of functions that have returned, in
	// bytes: printing a message needs less.
	deadStack = 16 << 10
	// abortFrames bounds the frames of a runtime that ends the program, in bytes.
	abortFrames = 16 << 10
)

// cxxLibrary is the component that ends programs with uncaught exceptions.
const cxxLibrary = "the C++ library"

// Finder describes the end of a program.
type Finder struct {
	target  callbacks.Target
	about   *picture.Target
	threads *teams.ThreadTable
	code    *stacks.Code
	data    *stacks.Data
	flows   *stacks.Flow
}

// Abort describes how the C library, the C++ library, an OpenMP runtime or the program itself ended the program by
// abort. It is not ok if the program did not end by abort.
func (c *Finder) Abort() (picture.Abort, bool) {
	n := c.threads.ByLWP[c.about.CrashedLWP]
	if n == nil || c.about.Signal != "SIGABRT" || !n.InFunction("abort") {
		return picture.Abort{}, false
	}
	st := n.Stack()
	caller := firstOutside(st, 0)
	if caller < 0 {
		return c.abortAlone(n, st)
	}
	a := picture.Abort{Thread: n.LWP, Caller: *c.code.InnermostFrame(st.Frames[caller], st.Kinds[caller])}
	c.addHandler(st, caller, &a)
	if a.Message = c.data.Library().AbortMessage(); a.Message != "" {
		a.Component, a.MessageSource = "the C library", "its variable __abort_msg"
		return a, true
	}
	if st.Kinds[caller] == stacks.KindUser {
		if m := st.Frames[caller].Module; m != nil && isCXXLibrary(m) {
			a.Component = cxxLibrary
			c.addCXXCall(st, &a)
		}
		return a, true
	}
	for _, rt := range c.threads.Runtimes {
		if !rt.Owns(st.Frames[caller].LookupPC()) {
			continue
		}
		a.Component = "the " + rt.Identity().Name
		if r, ok := rt.Runtime.(rtl.AbortMessageReader); ok {
			if a.Message = r.AbortMessage(c.readLeftovers(n, st, caller)); a.Message != "" {
				a.MessageSource = "what is left on the stack of the function that printed it"
			}
		}
		return a, true
	}
	return picture.Abort{}, false
}

// abortAlone describes an abort of the C library without other frames on the stack, as at the end of a thread.
func (c *Finder) abortAlone(n *teams.Thread, st *stacks.Stack) (picture.Abort, bool) {
	a := picture.Abort{Thread: n.LWP, Component: "the C library", MessageSource: "its variable __abort_msg"}
	a.Message = c.data.Library().AbortMessage()
	if m := st.Frames[0].Module; m != nil {
		a.Caller = picture.Frame{Kind: picture.FrameSystem, Module: filepath.Base(m.Path)}
	}
	return a, a.Message != ""
}

// firstOutside returns the index of the first frame from index from on that is not the C library's, or -1.
func firstOutside(st *stacks.Stack, from int) int {
	for i := from; i < len(st.Frames); i++ {
		if m := st.Frames[i].Module; !st.Frames[i].Signal && (m == nil || !libc.IsSystem(m.Path)) {
			return i
		}
	}
	return -1
}

// addHandler adds the signal to an abort in the handler of a signal: frame caller is in the handler, or was
// called by it. Either the program had called abort before, or the signal was sent.
func (c *Finder) addHandler(st *stacks.Stack, caller int, a *picture.Abort) {
	i := slices.IndexFunc(st.Frames, func(f unwind.Frame) bool { return f.Signal })
	if i < caller || i+1 >= len(st.Frames) || c.code.Symbols == nil {
		return
	}
	before := firstOutside(st, i+1)
	for _, f := range st.Frames[i+1 : max(before, i+1)] {
		if name, _, ok := c.code.Symbols.Exported(f.LookupPC()); ok && name == "abort" {
			a.Caller = *c.code.InnermostFrame(st.Frames[before], st.Kinds[before])
			return
		}
	}
	a.Handler = &picture.SignalHandler{}
	if before >= 0 {
		if n := slices.Index(st.Kinds[before:], stacks.KindUser); n > 0 && st.Kinds[before] == stacks.KindRuntime {
			before += n
			a.Handler.Call, _ = st.CalledFunction(before)
		}
		a.Handler.Interrupted = c.code.InnermostFrame(st.Frames[before], st.Kinds[before])
	}
	info, ok := arch.SavedSignal(c.target.Arch(), c.readPadded(st.Frames[i].Registers.SP(), arch.SavedSize))
	if ok && info.Sender > 0 { // the handler asked for it
		a.Handler.Signal, a.Handler.Sender = info.Signal, info.Sender
	}
}

// addCXXCall adds the call of the program that made the C++ library end it.
func (c *Finder) addCXXCall(st *stacks.Stack, a *picture.Abort) {
	for i, f := range st.Frames {
		m := f.Module
		if m == nil || libc.IsSystem(m.Path) {
			continue
		}
		name := c.code.CalledIn(f)
		switch {
		case name == "_Unwind_ForcedUnwind":
			a.Call = "pthread_exit"
		case i+1 < len(st.Frames) && c.code.CalledIn(st.Frames[i+1]) == clangTerminate:
			a.Call = clangTerminate // no exception of C++, or it would have been found
		case !libc.IsLanguage(m.Path):
			if name == "" && i > 0 { // a call through a pointer
				name, _, _ = c.code.Symbols.Exported(st.Frames[i-1].LookupPC())
			}
			fs := c.code.Frames(f, st.Kinds[i])
			a.Caller = *stacks.ProgramCode(fs)
			if a.Call = cmp.Or(a.Call, symbolize.Demangle(name)); isUnjoinedThread(fs) {
				a.Call = "std::thread::~thread"
			}
			return
		}
	}
}

// clangTerminate is the function that clang's code calls where an exception must not continue.
const clangTerminate = "__clang_call_terminate"

// isUnjoinedThread reports whether inlined code destroys a std::thread that was not joined.
func isUnjoinedThread(fs []picture.Frame) bool {
	return slices.ContainsFunc(fs, func(f picture.Frame) bool {
		return f.Function == "std::thread::~thread()" || strings.HasPrefix(f.Function, "std::thread::operator=")
	})
}

// isCXXLibrary reports whether a module is a C++ library that ends programs with uncaught exceptions.
func isCXXLibrary(m *callbacks.Module) bool {
	base := filepath.Base(m.Path)
	return strings.HasPrefix(base, "libstdc++.so") || strings.HasPrefix(base, "libc++abi.so") ||
		strings.HasPrefix(base, "libc++.so")
}

// readLeftovers reads n's stack from the frames of functions that have returned to the end of the runtime's
// frames from caller on.
func (c *Finder) readLeftovers(n *teams.Thread, st *stacks.Stack, caller int) []byte {
	sp, end := n.Registers().SP(), uint64(0)
	for i := caller; i < len(st.Frames) && st.Kinds[i] == stacks.KindRuntime; i++ {
		end = st.Frames[i].CFA
	}
	if end <= sp {
		return nil
	}
	low := sp - min(sp, deadStack)
	return c.readPadded(low, min(end-low, deadStack+abortFrames))
}

// readPadded reads memory, with zeros where it cannot be read.
func (c *Finder) readPadded(addr, size uint64) []byte {
	const piece = 256
	b := make([]byte, size)
	for at := uint64(0); at < size; at += piece {
		part := b[at:min(at+piece, size)]
		if c.target.ReadMemory(callbacks.Addr(addr+at), part) != nil {
			clear(part)
		}
	}
	return b
}

// New returns a Finder for a target.
func New(
	about *picture.Target, r *teams.ThreadTable, code *stacks.Code, data *stacks.Data, fl *stacks.Flow,
) *Finder {
	return &Finder{r.Target, about, r, code, data, fl}
}
