package stacks

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/pycode"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Interpreter is a Python interpreter in the target.
type Interpreter struct {
	Runtime *pycode.Runtime // nil with an error
	Module  *callbacks.Module
	Threads []pycode.Thread
	Locks   []pycode.Lock
	Pauses  []pycode.Pause
	Err     error // of finding it, or of reading its threads or locks
	// PauseErr is the error of reading pauses.
	PauseErr error
	// Names has the names of threads in Python's module threading, by the addresses of their thread states.
	Names map[uint64]string
	// NamesErr is the error of reading names.
	NamesErr error
	// Placed and Unplaced count the calls of its function that executes Python code, on the stacks that were unwound:
	// those with a native frame, and those without.
	Placed, Unplaced int

	embedded bool // in the executable of another program, whose code is in the same module
}

// python has the interpreters of Python and R of a target, and the native frames that run their code.
type python struct {
	code         *Code
	interpreters []*Interpreter
	threads      map[uint64][]pythonThread // by pthread_t
	sessions     []*RSession               // of R
	rRead        bool                      // the functions of R were read in a rehearsal
	places       map[uint64]pythonPlace    // by the CFA of a native frame
}

// pythonThread is a thread state of an interpreter. A thread has one for each interpreter that it has executed.
type pythonThread struct {
	of *Interpreter
	pycode.Thread
}

// pythonPlace is a native frame of an interpreter, behind which there is Python code.
type pythonPlace struct {
	frames []picture.Frame // of the call of the interpreter's function that the frame is of, or that is next outwards
	call   bool            // the frame is of a call
}

// pythonFile matches the file names of interpreters before 3.11: the release is nowhere else.
var pythonFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:lib)?python3\.(\d+)`) })

// newPython finds the interpreters of a target.
func newPython(c *Code) *python {
	p := &python{code: c, threads: map[uint64][]pythonThread{}, places: map[uint64]pythonPlace{}}
	if c.Symbols == nil {
		return p
	}
	lister, ok := c.Target.(callbacks.ModuleLister)
	if !ok {
		return p
	}
	modules, _ := lister.Modules() // modules that were found are listed despite an error
	for _, m := range modules {
		if r := openR(c, m); r != nil {
			p.sessions = append(p.sessions, r)
		}
		// Programs with an interpreter inside export its symbols, too: extension modules need them.
		if base := path.Base(m.Path); !m.Main && !strings.Contains(base, "python") && !strings.Contains(base, "pypy") {
			continue
		}
		if in := openInterpreter(c, m); in != nil {
			p.interpreters = append(p.interpreters, in)
			for _, t := range in.Threads {
				p.threads[t.Pthread] = append(p.threads[t.Pthread], pythonThread{in, t})
			}
		}
	}
	return p
}

// errOtherPython is the error of interpreters of Python other than CPython.
var errOtherPython = errors.New("only CPython is read")

// openInterpreter returns the interpreter of a module, nil if it has none.
func openInterpreter(c *Code, m *callbacks.Module) *Interpreter {
	if strings.Contains(path.Base(m.Path), "pypy") {
		return &Interpreter{Module: m, Err: errOtherPython}
	}
	minor := 0
	if name := pythonFile().FindStringSubmatch(path.Base(m.Path)); name != nil {
		minor, _ = strconv.Atoi(name[1]) // digits
	}
	in := &Interpreter{Module: m, embedded: m.Main && !strings.HasPrefix(path.Base(m.Path), "python")}
	in.Runtime, in.Err = pycode.Open(pycode.Config{
		Memory: c.Target, Minor: minor,
		Lookup: func(name string) (uint64, bool) { return c.Symbols.LookupExported(name, m.Path) },
	})
	if in.Runtime == nil && in.Err == nil {
		return nil
	}
	if in.Err == nil {
		var err error
		in.Threads, in.Err = in.Runtime.Threads()
		in.Locks, err = in.Runtime.Locks()
		in.Err = cmp.Or(in.Err, err)
		in.Pauses, in.PauseErr = in.Runtime.Pauses(in.Threads)
		in.Names, in.NamesErr = in.Runtime.ThreadNames(in.Threads)
	}
	return in
}

// PythonUse is a line of a thread's Python code that reads a name.
type PythonUse struct {
	Frame picture.Frame   // at the line
	Outer []picture.Frame // the frames outwards of it, innermost first
}

// PythonUses returns the lines at which the code of a thread's Python frames reads one of the names before its present
// instruction, the innermost frame first. tid is the kernel's number of the thread: thread states with another one are
// left out. complete is set if all frames were read.
func (c *Code) PythonUses(pthread, tid uint64, names ...string) (uses []PythonUse, complete bool) {
	complete = true
	for _, t := range c.python().threads[pthread] {
		if t.NativeID != tid || tid == 0 {
			continue
		}
		calls, err := t.of.Runtime.Calls(t.Thread)
		complete = complete && err == nil
		var frames []pycode.Frame
		for _, call := range calls {
			frames = append(frames, call.Frames...)
		}
		for i, f := range frames {
			lines, err := t.of.Runtime.NameLines(f, names...)
			complete = complete && err == nil
			for _, line := range lines {
				f.Line = line
				uses = append(uses, PythonUse{pythonPicture([]pycode.Frame{f})[0], pythonPicture(frames[i+1:])})
			}
		}
	}
	return uses, complete
}

// Interpreters returns the Python interpreters of the target.
func (c *Code) Interpreters() []*Interpreter { return c.python().interpreters }

// PythonName returns the name of a thread in Python's module threading; "" without one. It leaves out the names of the
// main thread and of those that Python did not start.
func (c *Code) PythonName(pthread uint64) string {
	const main, foreign = "MainThread", "Dummy-"
	for _, t := range slices.Backward(c.python().threads[pthread]) { // the first interpreter is the last one
		if n := t.of.Names[t.Address]; n != main && !strings.HasPrefix(n, foreign) && n != "" {
			return n
		}
	}
	return ""
}

// HiddenPython reports whether f is a frame of a Python interpreter's own, between Python frames that are shown.
func (c *Code) HiddenPython(f unwind.Frame) bool {
	if f.CFA == 0 {
		return false
	}
	place, ok := c.python().places[f.CFA]
	return ok && !place.call
}

// pythonFrames returns the Python frames that a frame of an interpreter runs, or that are next outwards.
func (c *Code) pythonFrames(f unwind.Frame) []picture.Frame {
	if f.CFA == 0 || f.Module == nil {
		return nil
	}
	return slices.Clone(c.python().places[f.CFA].frames)
}

// Lineless reports whether a module is an interpreter, of its standard library, or of a package that was installed by
// pip or by R: lines of Python and R take the place of its lines, and most users cannot install its debug information.
func (c *Code) Lineless(m *callbacks.Module) bool {
	return strings.Contains(m.Path, "/site-packages/") || strings.Contains(m.Path, "/lib-dynload/") ||
		c.InInterpreter(m) || len(c.RSessions()) > 0 && path.Base(path.Dir(m.Path)) == "libs"
}

// InInterpreter reports whether a module is an interpreter of Python or R, or connects Python and C.
func (c *Code) InInterpreter(m *callbacks.Module) bool {
	p := c.python()
	return len(p.interpreters) > 0 && p.connects(m) || p.inR(m)
}

// evalFunction is the interpreter's function that executes Python code.
const evalFunction = "_PyEval_EvalFrameDefault"

// placePython finds the native frames of a stack that run Python or R code. The frames of these languages that are
// left, because the native stack ends before them, are st.Python.
func (p *python) placePython(pthread uint64, st *Stack) error {
	var failed error
	for _, t := range p.threads[pthread] {
		calls, err := t.of.Runtime.Calls(t.Thread)
		if err != nil {
			failed = err
		}
		at := 0
		for _, call := range calls {
			frames := pythonPicture(call.Frames)
			i := p.nativeFrame(t.of, call, st, at)
			if i < 0 {
				t.of.Unplaced++
				if st.Err != nil {
					st.Python = append(st.Python, frames...)
				}
				continue
			}
			t.of.Placed++
			p.places[st.Frames[i].CFA] = pythonPlace{frames, true}
			at = i + 1
		}
	}
	if err := p.placeR(st); err != nil {
		failed = err
	}
	p.hideInner(st)
	return failed
}

// mark is the mark of a call of an interpreter's function.
type mark struct {
	address uint64
	module  *callbacks.Module
}

// isIn reports whether a native frame is that of the call.
func (m mark) isIn(f unwind.Frame) bool {
	return f.CFA != 0 && f.Module != nil && f.Module.Low == m.module.Low &&
		m.address >= f.Registers.SP() && m.address < f.CFA
}

// marks returns the marks of the calls of a thread.
func (p *python) marks(pthread uint64) []mark {
	var out []mark
	for _, t := range p.threads[pthread] {
		calls, _ := t.of.Runtime.Calls(t.Thread) // placePython reports the error
		for _, c := range calls {
			if c.Mark != 0 {
				out = append(out, mark{c.Mark, t.of.Module})
			}
		}
	}
	return out
}

// nativeFrame returns the index of the native frame that runs a call, from frame from on; -1 without one.
func (p *python) nativeFrame(in *Interpreter, call pycode.Call, st *Stack, from int) int {
	i := slices.IndexFunc(st.Frames[from:], func(f unwind.Frame) bool {
		if in.Runtime.Marked() {
			return mark{call.Mark, in.Module}.isIn(f)
		}
		if f.CFA == 0 || f.Module == nil || f.Module.Low != in.Module.Low {
			return false
		}
		if _, taken := p.places[f.CFA]; taken { // by a call of another interpreter
			return false
		}
		at, err := p.code.Symbols.Function(f.LookupPC())
		return err == nil && strings.HasPrefix(at.Function, evalFunction)
	})
	if i < 0 {
		return -1
	}
	return from + i
}

// hideInner hides the interpreters' frames that have a call of Python code next outwards, and those outside of the
// outermost call: they call the first Python code. Without a call, it hides those that the program called.
func (p *python) hideInner(st *Stack) {
	if len(p.interpreters)+len(p.sessions) == 0 {
		return
	}
	var outer []picture.Frame
	shown, called := false, false // there are other frames outwards; there is a call
	for _, f := range slices.Backward(st.Frames) {
		if place := p.places[f.CFA]; place.call {
			outer, shown, called = place.frames, true, true
			break
		}
	}
	for i, f := range slices.Backward(st.Frames) {
		switch place := p.places[f.CFA]; {
		case place.call:
			outer = place.frames
		case p.connects(f.Module) || called && p.inR(f.Module):
			if shown && f.CFA != 0 {
				p.places[f.CFA] = pythonPlace{outer, false}
			}
		case st.Kinds[i] != KindSystem: // the program, or its OpenMP runtime
			shown = true
		}
	}
}

// connects reports whether a module is an interpreter, or connects Python and C without code of the program.
func (p *python) connects(m *callbacks.Module) bool {
	if m == nil {
		return false
	}
	base := path.Base(m.Path)
	return strings.HasPrefix(base, "_ctypes.") || strings.HasPrefix(base, "_cffi_backend.") ||
		slices.ContainsFunc(p.interpreters, func(in *Interpreter) bool {
			return in.Module.Low == m.Low && !in.embedded
		})
}

// pythonPicture returns Python frames as a picture has them.
func pythonPicture(frames []pycode.Frame) []picture.Frame {
	out := make([]picture.Frame, len(frames))
	for i, f := range frames {
		out[i] = picture.Frame{
			Kind: picture.FrameUser, Language: picture.LanguagePython, Function: f.Function, File: f.File, Line: f.Line,
		}
	}
	return out
}
