package waits

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
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
	if at := wf.forkingUse(wf.Threads.All[0]); at != nil {
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
	return outside(strings.TrimSuffix(fs[i].File, file)+"/", fs[i:])
}

// outside returns the innermost of some Python frames that has a line and is not of the standard library, or nil.
func outside(library string, fs []picture.Frame) *picture.Frame {
	for _, f := range fs {
		rest, ofLibrary := strings.CutPrefix(f.File, library)
		packages, _, _ := strings.Cut(rest, "/")
		if f.Line != 0 && !strings.HasPrefix(f.File, "<") && (!ofLibrary || strings.HasSuffix(packages, "-packages")) {
			return &f
		}
	}
	return nil
}

// libraryDirectory matches the directory of Python's standard library in the name of a file.
var libraryDirectory = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^.*/lib/python3\.\d+t?/`) })

// forkingUse returns the line of Python that called os.fork or os.forkpty, for a process that Python forked: only then
// does the interpreter have the number of its thread. It is the only line of the thread's frames that reads one of
// these names before the frame's present instruction; nil if there are several. If the standard library has the line,
// it is the innermost one outside of it.
func (wf *Finder) forkingUse(n *teams.Thread) *picture.Frame {
	tid, err := wf.Data.Library().ThreadID(n.Pthread)
	if err != nil {
		return nil
	}
	uses, complete := wf.Code.PythonUses(n.Pthread, tid, "fork", "forkpty")
	if !complete || len(uses) != 1 {
		return nil
	}
	fs := append([]picture.Frame{uses[0].Frame}, uses[0].Outer...)
	library := libraryDirectory().FindString(uses[0].Frame.File)
	if library == "" {
		return &fs[0]
	}
	return outside(library, fs)
}
