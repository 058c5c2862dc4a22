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
	left   int // frames that may still be read
	known  map[valuedFrame][][]symbolize.Value
}

// valuedFrame identifies a native frame.
type valuedFrame struct{ pc, cfa uint64 }

// ReadValues sets whether frames from now on include their variables and registers.
func (c *Code) ReadValues(with bool) {
	c.values = nil
	if with {
		c.values = &values{c.Target, c.Symbols, maxValued, map[valuedFrame][][]symbolize.Value{}}
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
	if kind == KindUser {
		functions = v.variables(f)
	}
	for i := range frames {
		out := &picture.Values{Registers: registers}
		if at := len(frames) - 1 - i; at < len(functions) {
			out.Variables = pictured(functions[at])
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
	at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
	out = v.sym.Values(at, func(addr uint64, p []byte) error { return v.target.ReadMemory(callbacks.Addr(addr), p) })
	v.known[key] = out
	return out
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
			Missing: v.Missing, Parts: pictured(v.Parts), Cut: v.Cut,
		})
	}
	return out
}
