package crash

import (
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// addCaller adds the call of the program to a fault in a library or in one of its headers. The search starts at
// frame from. Code without lines counts as a library's if code with lines called it. If a function of the program
// ended in the call, no stack shows it.
func (c *Finder) addCaller(st *stacks.Stack, from int, f *picture.Fault) {
	if isJump(f) && from+1 < len(st.Frames) {
		c.addLockCall(st, from, f)
		return
	}
	if c.code.Rehearsing || from >= len(st.Frames) || st.Frames[from].Module == nil || isJump(f) {
		return
	}
	if last := st.TailCalled - 1; from <= last {
		fr := c.code.InnermostFrame(st.Frames[last], st.Kinds[last])
		f.Callee = &picture.Callee{Function: fr.Function, Module: fr.Module}
		return
	}
	var inner *picture.Frame // inlined into the next, or called by it
	for i := from; i < min(len(st.Frames), from+stacks.MaxLibraryFrames); i++ {
		fr, kind := st.Frames[i], st.Kinds[i]
		if fr.Signal || kind == stacks.KindGlue {
			return
		}
		if inner != nil && c.code.IsRecorder(&fr) {
			continue
		}
		fs := c.code.FramesWithConstruct(fr, kind)
		for j := range fs {
			own := kind == stacks.KindUser && fr.Module != nil && !stacks.InLibraryHeader(fs[j]) &&
				!libc.IsLanguage(fr.Module.Path)
			lines := fs[j].Line != 0
			if own && inner != nil && (lines || f.Caller == nil) {
				f.Caller, f.Callee = &fs[j], c.calleeOf(fr, j == 0, inner)
			}
			if own && lines {
				return
			}
			inner = &fs[j]
		}
	}
}

// calleeOf describes the function that the code of fr called, or that is inlined into it, if it contains inner,
// a frame of the library.
func (c *Finder) calleeOf(fr unwind.Frame, calls bool, inner *picture.Frame) *picture.Callee {
	out := &picture.Callee{Function: inner.Function}
	if filepath.Base(fr.Module.Path) != inner.Module {
		out.Module = inner.Module
	}
	name := ""
	if calls {
		name = c.code.CallTarget(fr.PC)
	}
	if name == "" || inner.Kind == picture.FrameUser && inner.Function != "" {
		return out
	}
	out.Function = symbolize.Demangle(name) // the C library's internal names are less clear
	if c.code.CallsProgram(fr.PC) {         // it jumped to the library
		out.Module = ""
	}
	return out
}

// addLockCall adds the call of a function for locks from which the runtime jumped to an address without code: LLVM's
// runtime finds its functions for a lock by the lock's word.
func (c *Finder) addLockCall(st *stacks.Stack, from int, f *picture.Fault) {
	if call, ok := c.code.LockCallAfter(st, from); ok {
		f.Caller = c.code.InnermostFrame(st.Frames[call.Frame], stacks.KindUser)
		f.Callee = &picture.Callee{Function: call.Name}
	}
}
