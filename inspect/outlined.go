package inspect

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
)

// A construct of the program is one frame to people, but compilers make up to
// two functions of it: clang's wrapper and the body with the debug information
// (.omp_outlined. and .omp_outlined._debug__), or a task's entry and its body.

// mergeOutlined makes one frame of each construct, and tells which it is, and in which
// function of the program it stands.
func (in *Inspector) mergeOutlined(fs []Frame) []Frame {
	out := fs[:0:0]
	for _, f := range fs {
		if len(out) > 0 && wraps(f, out[len(out)-1]) {
			body := &out[len(out)-1]
			body.Construct, body.Inlined, body.entry = f.Construct, f.Inlined, f.entry
			continue
		}
		out = append(out, f)
	}
	for i := len(out) - 1; i >= 0; i-- {
		f := &out[i]
		if f.Construct == "" {
			continue
		}
		known := in.constructs()[f.entry]
		if f.Construct == symbolize.ConstructOutlined && known.kind != "" {
			f.Construct = known.kind
		}
		if f.In == "" {
			f.In = known.in
		}
		if f.In == "" && f.Construct == symbolize.ConstructParallel && i+1 < len(out) && out[i+1].Kind == FrameUser {
			if f.In = out[i+1].In; out[i+1].Construct == "" {
				f.In = out[i+1].Function
			}
		}
	}
	return out
}

// construct is what the runtime knows of an outlined function.
type construct struct {
	kind string // parallel or task
	in   string // the function of the program that has it, as the compiler told the runtime; or empty
}

// constructs has, by the entry of an outlined function, its construct: of all regions,
// and of the tasks that threads have begun.
func (in *Inspector) constructs() map[uint64]construct {
	if in.constructOf != nil {
		return in.constructOf
	}
	in.constructOf = map[uint64]construct{}
	for _, v := range in.regions.all() {
		if fn := v.info.Function; !fn.IsNull() {
			c := construct{in: v.info.Source.Function}
			if v.info.League == 0 { // the league itself is of a teams construct
				c.kind = symbolize.ConstructParallel
			}
			in.constructOf[fn.Offset] = c
		}
	}
	for _, n := range in.natives {
		if len(n.chain) > 0 {
			in.addTasks(n)
		}
	}
	return in.constructOf
}

// addTasks adds the constructs of the explicit tasks that a thread executes or has
// suspended.
func (in *Inspector) addTasks(n *native) {
	h, err := n.rt.CurrentTask(n.h)
	for depth := 0; err == nil && depth < MaxLevels; depth++ {
		info, infoErr := n.rt.Task(h)
		if infoErr != nil || info.Kind != rtl.TaskExplicit {
			return
		}
		if fn := info.Function; !fn.IsNull() {
			c := construct{symbolize.ConstructTask, info.Source.Function}
			if known, ok := in.constructOf[fn.Offset]; ok && known.kind != symbolize.ConstructTask {
				c.kind = "" // compilers make one function of two that are the same
			}
			in.constructOf[fn.Offset] = c
		}
		h, err = n.rt.SchedulingTask(h)
	}
}

// wraps tells whether frame outer is only the compiler's wrapper of frame body,
// which it called.
func wraps(outer, body Frame) bool {
	switch {
	case outer.Construct != body.Construct || outer.LWP != 0 || outer.How == howJump || outer.How == howJumped:
		return false
	case body.Construct == symbolize.ConstructTask: // the body is inlined
		return symbolize.IsTaskEntry(outer.Function) && body.Inlined && *body.PC == *outer.PC
	}
	return body.Construct != "" && strings.Contains(body.Function, "_debug__") && !strings.Contains(outer.Function, "_debug__")
}

// serializedCode names the function of a serialized region for which the runtime
// keeps none, since a region inside it is executed on the same team: from the
// stack of the one thread that executes them all. Each serialized region has one
// outlined frame there, unless its call was a jump; then nothing is said.
func (in *Inspector) serializedCode(v *regionView) *Code {
	p := in.regions.primary(v)
	if p == nil || v.info.TeamSize != 1 {
		return nil
	}
	at := 0
	levels := 0 // regions that p itself executes the functions of
	for i, h := range p.chain {
		if h == v.h {
			at = i
		}
		if h.Level > 0 {
			levels++
		}
		if num, ok := in.threadNumAt(p, h); ok && num > 0 {
			break
		}
	}
	st := in.stackOf(p)
	fs := in.mergeOutlined(in.userFrames(st, 0))
	var outlined []int
	for i, f := range fs {
		if f.Construct == symbolize.ConstructParallel {
			outlined = append(outlined, i)
		}
	}
	if len(outlined) != levels || at >= len(outlined) {
		return nil
	}
	f := fs[outlined[at]]
	c := &Code{Name: f.Function, Address: hexPtr(f.entry)}
	if next := outlined[at] + 1; next < len(fs) {
		c.File, c.Line, c.LineFrom = fs[next].File, fs[next].Line, "call site"
	}
	return c
}
