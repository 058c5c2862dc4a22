package inspect

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Abort is what is known of a program that was ended by a call of abort.
type Abort struct {
	LWP       int
	By        string // who ended it: the runtime, by name, "the C library", "the C++ library"; empty for the program itself
	Message   string // what that said; empty if it is not known
	MessageBy string // where Message was found
	Caller    Frame  // that called abort
}

const (
	// deadStack is how far below the stack pointer the functions are looked for
	// that have returned, in bytes: printing a message takes less.
	deadStack = 16 << 10
	// abortFrames bounds the frames of a runtime that ends the program, in bytes.
	abortFrames = 16 << 10
	// maxAbortMessage bounds the message that the C library keeps.
	maxAbortMessage = 4 << 10
)

// Abort describes how the program was ended by abort, called by the C library, the
// C++ library, an OpenMP runtime or the program itself; not ok if it was not.
func (in *Inspector) Abort() (Abort, bool) {
	n := in.byLWP[in.cfg.About.CrashedLWP]
	if n == nil || in.cfg.About.Signal != "SIGABRT" || !in.called(n, "abort") {
		return Abort{}, false
	}
	st := in.stackOf(n)
	caller := slices.IndexFunc(st.frames, func(f unwind.Frame) bool { return f.Module == nil || !isSystem(f.Module) })
	if caller < 0 {
		return Abort{}, false
	}
	a := Abort{LWP: n.lwp, Caller: in.frames(st.frames[caller], st.kinds[caller])[0]}
	if a.Message = in.libraryMessage(); a.Message != "" {
		a.By, a.MessageBy = "the C library", "its variable __abort_msg"
		return a, true
	}
	if st.kinds[caller] == kindUser {
		if m := st.frames[caller].Module; m != nil && isCXXLibrary(m) {
			a.By = "the C++ library"
		}
		return a, true
	}
	for _, rt := range in.runtimes {
		if !rt.Owns(st.frames[caller].LookupPC()) {
			continue
		}
		a.By = "the " + rt.Identity().Name
		if r, ok := rt.Runtime.(rtl.LastWordsReader); ok {
			if a.Message = r.LastWords(in.leftovers(n, st, caller)); a.Message != "" {
				a.MessageBy = "what is left on the stack of the function that printed it"
			}
		}
		return a, true
	}
	return Abort{}, false
}

// isCXXLibrary tells the libraries that end programs whose exceptions nobody catches.
func isCXXLibrary(m *callbacks.Module) bool {
	base := filepath.Base(m.Path)
	return strings.HasPrefix(base, "libstdc++.so") || strings.HasPrefix(base, "libc++abi.so") || strings.HasPrefix(base, "libc++.so")
}

// libraryMessage is what the C library said before it called abort: at a failed
// assertion, or when it found the heap or a stack damaged. It is empty if it did
// not.
func (in *Inspector) libraryMessage() string {
	at, err := in.cfg.Target.Symbol("__abort_msg", "")
	if err != nil {
		return ""
	}
	var pointer [8]byte
	if in.cfg.Target.ReadMemory(at, pointer[:]) != nil || callbacks.Word(pointer[:]) == 0 {
		return ""
	}
	const text = 4 // behind the size of its memory (struct abort_msg_s)
	b := in.readable(callbacks.Word(pointer[:])+text, maxAbortMessage)
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(b[:end])), "\n", "; ")
}

// leftovers is the memory of n's stack from where functions were that have
// returned to the end of the runtime's frames from caller on.
func (in *Inspector) leftovers(n *native, st *stack, caller int) []byte {
	sp, end := in.registers(n).SP(), uint64(0)
	for i := caller; i < len(st.frames) && st.kinds[i] == kindRuntime; i++ {
		end = st.frames[i].CFA
	}
	if end <= sp {
		return nil
	}
	low := sp - min(sp, deadStack)
	return in.readable(low, min(end-low, deadStack+abortFrames))
}

// readable is the memory at addr, with zeros where it cannot be read.
func (in *Inspector) readable(addr, size uint64) []byte {
	const piece = 256
	b := make([]byte, size)
	for at := uint64(0); at < size; at += piece {
		part := b[at:min(at+piece, size)]
		if in.cfg.Target.ReadMemory(callbacks.At(addr+at), part) != nil {
			clear(part)
		}
	}
	return b
}
