package inspect

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// loops finds the worksharing loops that threads are in.
type loops struct {
	code   *stacks.Code
	flows  forkCode
	places map[loopPlace]loopPoint
}

func newLoops(code *stacks.Code, fl *stacks.Flow) *loops {
	return &loops{code, forkCode{fl}, map[loopPlace]loopPoint{}}
}

// of is the worksharing loop that n is in; nil if nothing tells of one.
func (l *loops) of(n *native) *picture.Loop {
	r, ok := n.rt.Runtime.(rtl.LoopReader)
	if !ok || len(n.chain) == 0 {
		return nil
	}
	info, err := r.Loop(n.h, l.loopCode(n))
	if err != nil {
		return nil
	}
	return &picture.Loop{
		Schedule: info.Schedule, Chunk: info.Chunk, Ordered: info.Ordered, First: info.First, Last: info.Last,
		Step:       info.Step,
		Iterations: info.Iterations, Left: info.Left, From: info.From, To: info.To, At: info.At,
		Evidence: info.Evidence,
	}
}

// loopCode is what the code of n's frames shows of the worksharing construct that it
// is in, nil if nothing. Only frames of the innermost region count: those up to the
// runtime that called them.
func (l *loops) loopCode(n *native) *rtl.LoopCode {
	st := n.Stack()
	for i := st.RuntimeFrames(); i < len(st.Frames) && st.Kinds[i] != stacks.KindRuntime; i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		code := l.flows.FunctionAt(st.Frames[i].LookupPC())
		if code == nil {
			return nil
		}
		switch p := l.loopPoint(st, i, code); {
		case p.fact == flow.Yes:
			return l.frameLoop(st, i, code, p.by)
		case p.fact != flow.No || p.serial:
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
	fact   flow.Truth      // it is in a worksharing construct
	by     []flow.CallSite // the calls since which it is
	serial bool            // it is in a region that one thread executes
}

// loopPoint asks the code where frame i is, once for each place.
func (l *loops) loopPoint(st *stacks.Stack, i int, code *flow.Function) loopPoint {
	at := loopPlace{st.Frames[i].PC, st.Frames[i].Exact}
	p, ok := l.places[at]
	switch {
	case ok:
		return p
	case code.MayCallNamed(isLoopCall):
		p.fact, p.by = code.Holds(l.flows.PointIn(st, i), loopEffect)
		_, _, p.serial = l.flows.between(st, i, rtl.ForkSerial, 0)
	default:
		p.fact = flow.No
	}
	l.places[at] = p
	return p
}

// isLoopCall reports whether a function has to do with what loopPoint tells.
func isLoopCall(name string) bool {
	kind, _ := rtl.ForkCallOf(name)
	return kind == rtl.ForkSerial || rtl.LoopCallOf(name).Kind != rtl.LoopNone
}

// loopEffect is what a call does to "this frame is in a worksharing construct".
func loopEffect(s flow.CallSite) flow.Effect {
	switch rtl.LoopCallOf(s.Name).Kind {
	case rtl.LoopNone:
		return flow.NoEffect
	case rtl.LoopEnds:
		return flow.Clears
	}
	return flow.Sets
}

// frameLoop is the construct that frame i is in since one of the calls by, which are
// of one construct if they put the range of the thread at one place.
func (l *loops) frameLoop(st *stacks.Stack, i int, code *flow.Function, by []flow.CallSite) *rtl.LoopCode {
	f, at := st.Frames[i], l.flows.PointIn(st, i)
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
			v, _, ok := code.Value(s, s.Args[n], at)
			return v, ok
		}
		out.Call, out.Function = call, s.Name
		low, high := l.loopValue(call, arg, call.Low), l.loopValue(call, arg, call.High)
		if out.Low != nil && (low == nil || *low != *out.Low) || out.High != nil &&
			(high == nil || *high != *out.High) {
			return nil
		}
		out.Low, out.High = low, high
		if call.Kind == rtl.LoopStatic {
			l.staticArguments(out, arg)
		}
	}
	if out != nil {
		if out.Call.Counted {
			out.Counter = l.counter(f)
		}
		out.Function, _, _ = strings.Cut(out.Function, "@")
		out.Where = l.code.InnermostFrame(f, stacks.KindUser).Called()
		if code.Indirect {
			out.Where += " (which has jumps through tables)"
		}
	}
	return out
}

// counter is the value of the counter that a compiler made for the loop that frame f
// is in, nil if debug information does not tell.
func (l *loops) counter(f unwind.Frame) *int64 {
	if l.code.Symbols == nil {
		return nil
	}
	at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
	read := func(addr uint64, size int) (uint64, bool) {
		var b [8]byte
		err := l.code.Target.ReadMemory(callbacks.At(addr), b[:size])
		return callbacks.Word(b[:size]), err == nil
	}
	for _, name := range rtl.LoopCounters() {
		if v, ok := l.code.Symbols.LocalValue(at, name, read); ok {
			return &v
		}
	}
	return nil
}

// loopValue is a value of a loop that a call put where its argument n points.
func (l *loops) loopValue(call rtl.LoopCall, arg func(int) (uint64, bool), n int) *int64 {
	addr, ok := arg(n)
	var b [8]byte
	if !ok || l.code.Target.ReadMemory(callbacks.At(addr), b[:call.Size]) != nil {
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
func (l *loops) staticArguments(out *rtl.LoopCode, arg func(int) (uint64, bool)) {
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
