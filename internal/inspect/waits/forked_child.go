package waits

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkCalls are the functions of the C library that fork a process.
var forkCalls = []string{"fork", "_Fork", "__fork", "__libc_fork"}

// forkedAt returns the call of fork that made the process, by the code of the functions on the stack of its one thread.
// It returns nil if the process was not forked, if it has more threads, or if the code does not show one such line.
func (wf *Finder) forkedAt() *picture.Frame {
	if !wf.About.Forked || len(wf.Threads.All) != 1 {
		return nil
	}
	st := wf.Threads.All[0].Stack()
	if at := forkingLine(wf.pythonFrames(st)); at != nil {
		return at
	}
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindUser || wf.Code.InInterpreter(f.Module) {
			continue
		}
		code := wf.Flows.FunctionAt(f.LookupPC())
		if code == nil || !code.MayCall(func(name string) bool { return slices.Contains(forkCalls, name) }) {
			continue
		}
		var found *picture.Frame
		for _, c := range code.CalledBefore(wf.Flows.PointIn(st, i)) {
			if !slices.Contains(forkCalls, c.Target.Name) {
				continue
			}
			at := wf.Code.Frames(unwind.Frame{PC: c.PC, Exact: true, Module: f.Module}, stacks.KindUser)
			if len(at) == 0 || found != nil && (found.File != at[0].File || found.Line != at[0].Line) {
				return nil
			}
			found = &at[0]
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// pythonFrames returns the Python frames of a stack, innermost first.
func (wf *Finder) pythonFrames(st *stacks.Stack) []picture.Frame {
	var out []picture.Frame
	for i, f := range st.Frames {
		if wf.Code.InInterpreter(f.Module) && !wf.Code.HiddenPython(f) {
			out = append(out, wf.Code.Frames(f, st.Kinds[i])...)
		}
	}
	out = append(out, st.Python...)
	return slices.DeleteFunc(out, func(f picture.Frame) bool { return f.Language != picture.LanguagePython })
}

// forkingLine returns the line of Python that made a child process by package multiprocessing: the child executes in
// the function that called os.fork. It is the innermost line outside of Python's standard library, or nil.
func forkingLine(fs []picture.Frame) *picture.Frame {
	const file = "/multiprocessing/popen_fork.py"
	i := slices.IndexFunc(fs, func(f picture.Frame) bool {
		return strings.HasSuffix(f.File, file) && strings.HasSuffix(f.Function, "_launch")
	})
	if i < 0 {
		return nil
	}
	library := strings.TrimSuffix(fs[i].File, file) + "/"
	for _, f := range fs[i:] {
		rest, ofLibrary := strings.CutPrefix(f.File, library)
		packages, _, _ := strings.Cut(rest, "/")
		if f.Line != 0 && !strings.HasPrefix(f.File, "<") && (!ofLibrary || strings.HasSuffix(packages, "-packages")) {
			return &f
		}
	}
	return nil
}
