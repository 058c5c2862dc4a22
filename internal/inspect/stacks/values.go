package stacks

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxValued bounds the native frames with variables: finding the variables of a function reads the debug
// information of its file up to that function.
const maxValued = 256

// values reads the variables and registers of frames.
type values struct {
	target callbacks.Target
	sym    *symbolize.Symbolizer
	unw    *unwind.Unwinder
	left   int // frames that may still be read
	// request is evaluated in each frame, if it has an expression.
	request symbolize.Request
	known   map[valuedFrame][][]symbolize.Value
	// globals are those of source files, by file and thread, and files the file of code, by PC.
	globals map[fileOfThread][]picture.Value
	files   map[uint64]string
	// threads are the LWPs by thread pointer; nil before the first use.
	threads map[uint64]callbacks.ThreadID
}

// fileOfThread identifies the global variables of a source file in a thread: some are thread-local.
type fileOfThread struct {
	file    string
	pointer uint64
}

// valuedFrame identifies a native frame.
type valuedFrame struct{ pc, cfa uint64 }

// ReadValues sets whether frames from now on include their variables and registers.
// request is evaluated in each frame, if it has an expression.
func (c *Code) ReadValues(with bool, request picture.Request) {
	c.values = nil
	if with {
		c.values = &values{target: c.Target, sym: c.Symbols, unw: c.Unwinder, left: maxValued,
			request: symbolize.Request(request), known: map[valuedFrame][][]symbolize.Value{},
			globals: map[fileOfThread][]picture.Value{},
			files:   map[uint64]string{}}
	}
}

// addTo adds values to the frames of one native frame, the inlined functions first.
func (v *values) addTo(f unwind.Frame, kind Kind, frames []picture.Frame) {
	if v == nil {
		return
	}
	registers := v.registers(&f.Registers)
	if f.CFA == 0 && registers == nil {
		return // a function that ended in a tail call has no frame
	}
	var functions [][]symbolize.Value
	var globals []picture.Value
	if kind == KindUser {
		functions, globals = v.variables(f), v.globalsOf(f)
	}
	for i := range frames {
		out := &picture.Values{Registers: registers, Globals: globals}
		at := len(frames) - 1 - i
		if at < len(functions) {
			out.Variables = pictured(functions[at])
		}
		if v.request.Expression != "" && kind == KindUser && v.sym != nil {
			v.evaluate(f, at, out)
		}
		frames[i].SetValues(out)
	}
}

// variables returns the variables of a native frame by function, outermost first.
func (v *values) variables(f unwind.Frame) [][]symbolize.Value {
	key := valuedFrame{f.PC, f.CFA}
	out, ok := v.known[key]
	if ok || v.sym == nil || v.left == 0 {
		return out
	}
	v.left--
	out = v.sym.Values(v.activation(f), v.read)
	v.known[key] = out
	return out
}

// evaluate sets the result of the expression in the function of a frame.
func (v *values) evaluate(f unwind.Frame, inlined int, out *picture.Values) {
	result, err := v.sym.Evaluate(v.activation(f), inlined, v.request, v.read)
	if err != nil {
		out.Error = err.Error()
		return
	}
	out.Result = &pictured([]symbolize.Value{result})[0]
}

// read reads memory of the target.
func (v *values) read(addr uint64, p []byte) error {
	return v.target.ReadMemory(callbacks.Addr(addr), p)
}

// globalsOf returns the variables of the source file of a frame that are in no function.
func (v *values) globalsOf(f unwind.Frame) []picture.Value {
	if v.sym == nil {
		return nil
	}
	key := fileOfThread{v.files[f.PC], f.Registers.ThreadPointer}
	list, ok := v.globals[key]
	if !ok || key.file == "" {
		var read []symbolize.Value
		key.file, read = v.sym.Globals(symbolize.Activation{PC: f.LookupPC(), ThreadSymbol: v.threadSymbol(f)}, v.read)
		list = pictured(read)
		v.files[f.PC], v.globals[key] = key.file, list
	}
	return list
}

// threadSymbol returns a function that finds thread-local symbols in the thread of a frame; nil if its thread is not
// known.
func (v *values) threadSymbol(f unwind.Frame) func(name, file string) (uint64, bool) {
	if v.threads == nil {
		v.threads = map[uint64]callbacks.ThreadID{}
		ids, _ := v.target.ThreadIDs(callbacks.ThreadIDLWP) // without them, thread-local variables are missing
		for _, id := range ids {
			if r, ok := v.target.(callbacks.RegisterReader); ok {
				if registers, err := r.Registers(id); err == nil {
					v.threads[registers.ThreadPointer] = id
				}
			}
		}
	}
	id, ok := v.threads[f.Registers.ThreadPointer]
	if !ok || f.Registers.ThreadPointer == 0 {
		return nil
	}
	return func(name, file string) (uint64, bool) {
		a, err := v.target.ThreadSymbol(id, name, file)
		return a.Offset, err == nil
	}
}

// activation returns the activation of the function of a frame.
func (v *values) activation(f unwind.Frame) symbolize.Activation {
	return symbolize.Activation{
		PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get, ThreadSymbol: v.threadSymbol(f),
		Caller: func() (symbolize.Activation, uint64, bool) { return v.callerOf(f) },
	}
}

// callerOf returns the caller of a frame, and the return address in it.
func (v *values) callerOf(f unwind.Frame) (at symbolize.Activation, back uint64, ok bool) {
	if v.unw == nil || f.Outermost || f.Signal || f.Go {
		return at, 0, false
	}
	frames, _ := v.unw.Stack(f.Registers, 2)
	if len(frames) < 2 || frames[0].CFA != f.CFA || frames[1].Exact {
		return at, 0, false
	}
	return v.activation(frames[1]), frames[1].PC, true
}

// registers returns the known registers.
func (v *values) registers(r *callbacks.Registers) []picture.Register {
	var out []picture.Register
	for n, name := range arch.RegisterNames(v.target.Arch()) {
		if value, ok := r.Get(n); ok {
			out = append(out, picture.Register{Name: name, Value: picture.Hex(value)})
		}
	}
	return out
}

// pictured converts values to those of a picture.
func pictured(list []symbolize.Value) []picture.Value {
	var out []picture.Value
	for _, v := range list {
		out = append(out, picture.Value{
			Name: v.Name, Type: v.Type, Text: v.Text, Address: picture.Address(v.Address), Argument: v.Argument,
			Missing: v.Missing, Parts: pictured(v.Parts), Cut: v.Cut, Count: v.Count,
		})
	}
	return out
}
