package inspect

import (
	"cmp"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// loopOf is the worksharing loop that n is in; nil if nothing tells of one.
func (in *Inspector) loopOf(n *native) *Loop {
	r, ok := n.rt.Runtime.(rtl.LoopReader)
	if !ok || len(n.chain) == 0 {
		return nil
	}
	info, err := r.Loop(n.h, in.loopCode(n))
	if err != nil {
		return nil
	}
	return &Loop{
		Schedule: info.Schedule, Chunk: info.Chunk, Ordered: info.Ordered, First: info.First, Last: info.Last, Step: info.Step,
		Iterations: info.Iterations, Left: info.Left, From: info.From, To: info.To, At: info.At, Evidence: info.Evidence,
	}
}

// loopCode is what the code of n's frames shows of the worksharing construct that it
// is in, nil if nothing. Only frames of the innermost region count: those up to the
// runtime that called them.
func (in *Inspector) loopCode(n *native) *rtl.LoopCode {
	st := in.stackOf(n)
	for i := st.topSegment(); i < len(st.frames) && st.kinds[i] != kindRuntime; i++ {
		if st.kinds[i] != kindUser {
			continue
		}
		flow := in.flowAt(st.frames[i].LookupPC())
		if flow == nil {
			return nil
		}
		switch p := in.loopPoint(st, i, flow); {
		case p.fact == accesspath.FactYes:
			return in.frameLoop(st, i, flow, p.by)
		case p.fact != accesspath.FactNo || p.serial:
			return nil
		}
	}
	return nil
}

// loopPlace is where a frame is: at an instruction, or behind a call.
type loopPlace struct {
	pc    uint64
	exact bool
}

// loopPoint is what the code of a function shows at one place of it.
type loopPoint struct {
	fact   accesspath.Fact   // it is in a worksharing construct
	by     []accesspath.Site // the calls since which it is
	serial bool              // it is in a region that one thread executes
}

// loopPoint asks the code where frame i is, once for each place.
func (in *Inspector) loopPoint(st *stack, i int, flow *accesspath.Flow) loopPoint {
	at := loopPlace{st.frames[i].PC, st.frames[i].Exact}
	p, ok := in.loops[at]
	switch {
	case ok:
		return p
	case flow.MayCall(isLoopCall):
		p.fact, p.by = flow.Holds(in.point(st, i), loopEffect)
		_, _, p.serial = in.between(st, i, rtl.ForkSerial, 0)
	default:
		p.fact = accesspath.FactNo
	}
	in.loops[at] = p
	return p
}

// isLoopCall tells whether a function has to do with what loopPoint tells.
func isLoopCall(name string) bool {
	kind, _ := rtl.ForkCallOf(name)
	return kind == rtl.ForkSerial || rtl.LoopCallOf(name).Kind != rtl.LoopNone
}

// loopEffect is what a call does to "this frame is in a worksharing construct".
func loopEffect(s accesspath.Site) accesspath.Effect {
	switch rtl.LoopCallOf(s.Name).Kind {
	case rtl.LoopNone:
		return accesspath.EffectNone
	case rtl.LoopEnds:
		return accesspath.EffectClear
	}
	return accesspath.EffectSet
}

// frameLoop is the construct that frame i is in since one of the calls by, which are
// of one construct if they put the range of the thread at one place.
func (in *Inspector) frameLoop(st *stack, i int, flow *accesspath.Flow, by []accesspath.Site) *rtl.LoopCode {
	f, at := st.frames[i], in.point(st, i)
	var out *rtl.LoopCode
	for _, s := range by {
		call := rtl.LoopCallOf(s.Name)
		if out == nil {
			out = &rtl.LoopCode{Call: call, Function: s.Name}
		}
		if call.Kind != out.Call.Kind {
			return nil
		}
		out.Ordered = out.Ordered || call.Ordered
		if !call.Ranges {
			continue
		}
		arg := func(n int) (uint64, bool) {
			if n >= len(s.Args) {
				return 0, false
			}
			v, _, ok := flow.Value(s, s.Args[n], at)
			return v, ok
		}
		out.Call, out.Function = call, s.Name
		low, high := in.loopValue(call, arg, call.Low), in.loopValue(call, arg, call.High)
		if out.Low != nil && (low == nil || *low != *out.Low) || out.High != nil && (high == nil || *high != *out.High) {
			return nil
		}
		out.Low, out.High = low, high
		if call.Kind == rtl.LoopStatic {
			in.staticArguments(out, arg)
		}
	}
	if out != nil {
		if out.Call.Counted {
			out.Counter = in.counter(f)
		}
		out.Function, _, _ = strings.Cut(out.Function, "@")
		out.Where = cmp.Or(in.frames(f, kindUser)[0].Function, callbacks.At(f.PC).String())
		if flow.Indirect {
			out.Where += " (which has jumps through tables)"
		}
	}
	return out
}

// counter is the value of the counter that a compiler made for the loop that frame f
// is in, nil if debug information does not tell.
func (in *Inspector) counter(f unwind.Frame) *int64 {
	if in.cfg.Symbolizer == nil {
		return nil
	}
	at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
	read := func(addr uint64, size int) (uint64, bool) {
		var b [8]byte
		err := in.cfg.Target.ReadMemory(callbacks.At(addr), b[:size])
		return callbacks.Word(b[:size]), err == nil
	}
	for _, name := range rtl.LoopCounters() {
		if v, ok := in.cfg.Symbolizer.LocalValue(at, name, read); ok {
			return &v
		}
	}
	return nil
}

// loopValue is a value of a loop that a call put where its argument n points.
func (in *Inspector) loopValue(call rtl.LoopCall, arg func(int) (uint64, bool), n int) *int64 {
	addr, ok := arg(n)
	var b [8]byte
	if !ok || in.cfg.Target.ReadMemory(callbacks.At(addr), b[:call.Size]) != nil {
		return nil
	}
	v := int64(callbacks.Word(b[:call.Size]))
	if call.Size == 4 && !call.Unsigned {
		v = int64(int32(v))
	}
	if call.Size == 8 && call.Unsigned && v < 0 { // larger than is told
		return nil
	}
	return &v
}

// staticArguments adds what the arguments of a call say that divides a loop.
func (in *Inspector) staticArguments(out *rtl.LoopCode, arg func(int) (uint64, bool)) {
	if v, ok := arg(out.Call.Schedule); ok {
		v &= 1<<32 - 1
		out.Schedule = &v
	}
	if v, ok := arg(out.Call.Chunk); ok {
		c := int64(v)
		if out.Call.Size == 4 {
			c = int64(int32(v))
		}
		out.Chunk = &c
	}
	out.Source, _ = arg(out.Call.Source)
}
