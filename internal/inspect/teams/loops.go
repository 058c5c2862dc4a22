package teams

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

// Loops finds the worksharing loops that threads are in.
type Loops struct {
	code   *stacks.Code
	flows  forkCode
	places map[loopPlace]loopPoint
}

// NewLoops returns a finder of loops by the code on the stacks.
func NewLoops(code *stacks.Code, fl *stacks.Flow) *Loops {
	return &Loops{code, forkCode{fl}, map[loopPlace]loopPoint{}}
}

// LoopOf returns the worksharing loop that n is in, nil if it is in no known loop.
func (l *Loops) LoopOf(n *Thread) *picture.Loop {
	r, ok := n.Runtime.Runtime.(rtl.LoopReader)
	if !ok || len(n.Chain) == 0 {
		return nil
	}
	info, err := r.Loop(n.Handle, l.loopCode(n))
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

// loopCode describes the worksharing construct around n by the code of its frames; nil outside of such a
// construct. It searches only the frames of the innermost region, up to the runtime that called them.
func (l *Loops) loopCode(n *Thread) *rtl.LoopCode {
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

// loopPlace is a position in code: an instruction, or the return address of a call.
type loopPlace struct {
	pc    uint64
	exact bool
}

// loopPoint is the result of analysing the code of a function at one position.
type loopPoint struct {
	fact   flow.Truth      // whether it is in a worksharing construct
	by     []flow.CallSite // the calls that start the construct
	serial bool            // whether it is in a region that one thread executes
}

// loopPoint analyses the code at frame i, once for each position.
func (l *Loops) loopPoint(st *stacks.Stack, i int, code *flow.Function) loopPoint {
	at := loopPlace{st.Frames[i].PC, st.Frames[i].Exact}
	p, ok := l.places[at]
	switch {
	case ok:
		return p
	case code.MayCallNamed(isLoopCall):
		p.fact, p.by = code.Holds(l.flows.PointIn(st, i), loopEffect)
		_, _, p.serial = l.flows.callBefore(st, i, rtl.ForkSerial, 0)
	default:
		p.fact = flow.No
	}
	l.places[at] = p
	return p
}

// isLoopCall reports whether a function starts or ends a worksharing construct or a serialized region.
func isLoopCall(name string) bool {
	kind, _ := rtl.ForkCallOf(name)
	return kind == rtl.ForkSerial || rtl.LoopCallOf(name).Kind != rtl.LoopNone
}

// loopEffect returns the effect of a call on the fact "this frame is in a worksharing construct".
func loopEffect(s flow.CallSite) flow.Effect {
	switch rtl.LoopCallOf(s.Name).Kind {
	case rtl.LoopNone:
		return flow.NoEffect
	case rtl.LoopEnds:
		return flow.Clears
	}
	return flow.Sets
}

// frameLoop describes the construct of frame i, which one of the calls by has started. Calls belong to one construct
// if they store the range of the thread at one place.
func (l *Loops) frameLoop(st *stacks.Stack, i int, code *flow.Function, by []flow.CallSite) *rtl.LoopCode {
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

// counter returns the value of the loop counter that the compiler made, nil if debug information does not
// describe it.
func (l *Loops) counter(f unwind.Frame) *int64 {
	if l.code.Symbols == nil {
		return nil
	}
	at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
	read := func(addr uint64, size int) (uint64, bool) {
		var b [8]byte
		err := l.code.Target.ReadMemory(callbacks.Addr(addr), b[:size])
		return callbacks.Word(b[:size]), err == nil
	}
	for _, name := range rtl.LoopCounters() {
		if v, ok := l.code.Symbols.LocalValue(at, name, read); ok {
			return &v
		}
	}
	return nil
}

// loopValue reads a value of a loop that a call stored where its argument n points.
func (l *Loops) loopValue(call rtl.LoopCall, arg func(int) (uint64, bool), n int) *int64 {
	addr, ok := arg(n)
	var b [8]byte
	if !ok || l.code.Target.ReadMemory(callbacks.Addr(addr), b[:call.Size]) != nil {
		return nil
	}
	v := int64(callbacks.Word(b[:call.Size]))
	if call.Size == 4 && !call.Unsigned {
		v = int64(int32(v))
	}
	if call.Size == 8 && call.Unsigned && v < 0 { // out of the range of Loop
		return nil
	}
	return &v
}

// staticArguments adds the schedule, the chunk and the source from the arguments of a call that divides a loop.
func (l *Loops) staticArguments(out *rtl.LoopCode, arg func(int) (uint64, bool)) {
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
