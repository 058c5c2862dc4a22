package lockflow

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Handler describes the effect of the function around a call on an exception that the call throws. The zero value
// passes the exception on to the caller.
type Handler struct {
	Pad     uint64 // the code that is entered, to clean up or to catch the exception; 0 if none is
	Catches bool   // that code may catch the exception
	Ends    bool   // the program ends: no exception may leave the function
	// Runtime is set in the code of an OpenMP runtime: no exception leaves a region or a task.
	Runtime bool
}

// exits are the functions by which a call may leave its caller without returning; "" for a way that is not known.
type exits struct {
	thrown  string // throws an exception
	checked string // throws one if a check of the language or of its library fails
	ended   string // ends the thread, after the clean-up of its frames
	jumped  string // jumps to a frame further out, without any clean-up
	// unknown is set for a call through a pointer to an unknown function: that one may throw.
	unknown bool
}

// exitsBy returns the exits by a call of a function with a name.
func exitsBy(name string) exits {
	name, _, _ = strings.Cut(name, "@")
	switch {
	case !rtl.Leaves(name):
		return exits{}
	case rtl.Checks(name):
		return exits{checked: name}
	case strings.HasSuffix(name, "_exit"): // pthread_exit, thrd_exit
		return exits{ended: name}
	case strings.Contains(name, "longjmp"):
		return exits{jumped: name}
	}
	return exits{thrown: name}
}

// union returns both exits; of two functions, it keeps the first in the order of their names, and one that throws a
// new exception rather than one that throws it again.
func (e exits) union(o exits) exits {
	first := func(a, b string) string {
		again, other := rtl.Rethrows(a), rtl.Rethrows(b)
		if a == "" || b != "" && (again && !other || again == other && b < a) {
			return b
		}
		return a
	}
	return exits{first(e.thrown, o.thrown), first(e.checked, o.checked), first(e.ended, o.ended),
		first(e.jumped, o.jumped), e.unknown || o.unknown}
}

// exitsOf returns the exits by the call at s.
func (p *Program) exitsOf(s *site) exits {
	switch {
	case s.isThroughPointer():
		return exits{unknown: true}
	case rtl.Leaves(s.Name) || s.kind != calleeFollowed:
		return exitsBy(s.Name)
	}
	return p.throws.SummaryOf(s.entry)
}

// isThroughPointer reports whether a call is through a pointer to a function that is not known.
func (s *site) isThroughPointer() bool {
	return s.kind == calleeUnknown && s.entry == 0 && s.Name == ""
}

// computeThrows returns the exits from the function at entry, given those of its callees.
func (p *Program) computeThrows(entry uint64, callee func(entry uint64) exits) exits {
	f := p.codeFrom(entry)
	if f == nil {
		return exits{}
	}
	var out exits
	var calls []site
	direct := p.outlineOf(f).isDirect()
	if direct {
		calls = f.outline.calls
	} else {
		calls = p.sitesOf(f)
	}
	var fatal map[symbolic.Target]bool // of a direct function; nil before the first use
	for i := range calls {
		s := &calls[i]
		e := exitsBy(s.Name)
		if e == (exits{}) && s.kind == calleeFollowed {
			e = callee(s.entry)
		}
		if p.cfg.Handler != nil && e != (exits{}) && e != (exits{jumped: e.jumped}) {
			if direct && fatal == nil {
				fatal = p.fatalTargets(f)
			}
			// Tables describe no jumps: compilers put unlikely code elsewhere, with tables of its own.
			if fatal[s.Target] || !direct && s.Return != 0 && p.isFatal(f, p.cfg.Handler(s.PC)) {
				e = exits{jumped: e.jumped}
			}
		}
		out = out.union(e)
	}
	out.unknown = out.unknown || p.throwsThroughPointer(f)
	return out
}

// throwsThroughPointer reports whether an exception may leave f out of a call through a pointer, as far as instructions
// show such calls, or out of a function to which it jumps.
func (p *Program) throwsThroughPointer(f *function) bool {
	if o := p.outlineOf(f); p.cfg.Handler == nil || o.known && !o.byRegister && len(o.byMemory) == 0 {
		return false
	}
	found := f.flow.Indirect && f.flow.JumpsByPointer()
	f.flow.CallsThroughPointers(func(pc uint64) {
		found = found || !p.isFatal(f, p.cfg.Handler(pc))
	})
	return found
}

// fatalTargets returns the targets of calls of f at which each exception ends the program, by its tables. A site of an
// outline stands for all calls with the same target.
func (p *Program) fatalTargets(f *function) map[symbolic.Target]bool {
	all := map[symbolic.Target]bool{}
	f.flow.DirectCalls(func(pc uint64, t symbolic.Target) {
		fatal, known := all[t]
		all[t] = (fatal || !known) && p.isFatal(f, p.cfg.Handler(pc))
	})
	return all
}

// isFatal reports whether a handler of f ends the program: by the tables, or by a call that does not return, as
// clang's code of noexcept functions and of regions does.
func (p *Program) isFatal(f *function, h Handler) bool {
	if h.Ends || h.Pad == 0 {
		return h.Ends
	}
	t, ok := f.flow.FirstCall(h.Pad)
	if !ok || symbolic.NoReturn(t.Name) {
		return ok && exitsBy(t.Name) == exits{} && t.Name != unwindResume
	}
	if entry := p.Entry(flow.CallSite{Target: t}); entry != 0 && p.classAt(entry) == User {
		// __clang_call_terminate has no name in a stripped program.
		g := p.FlowAt(entry)
		return g != nil && p.endsProgram(entry) && g.MayCallNamed(func(name string) bool {
			return strings.HasPrefix(name, "_ZSt9terminatev")
		})
	}
	return false
}

// unwindResume continues an exception after the clean-up of a frame.
const unwindResume = "_Unwind_Resume"

// call is a call in a function of the program; f is nil for other code.
type call struct {
	f    *function
	pc   uint64 // in the instruction
	jump bool   // it is a jump out of the function
}

// fate is the effect of a function on an exception that reaches one of its calls while a lock is held.
type fate uint8

const (
	passes   fate = iota // it continues in the caller
	released             // the lock is released, or the program ends
	caught               // the function continues with the lock held
)

// escapes finds out whether an exit may leave code with a lock of a family held, and the program continues.
type escapes struct {
	p       *Program
	family  string
	threads []*Thread
	fates   map[uint64]fate // by address of a call
}

// maxRoutes bounds the stacks on which the callers of one function are searched for a handler.
const maxRoutes = 64

// escape describes whether the program continues with the lock held after an exception left a chain of calls.
type escape uint8

const (
	never   escape = iota // the lock is released, or the program ends
	perhaps               // the stacks do not show it
	handled               // a handler may catch the exception, or the end of a thread needs none
)

// mayContinue reports whether the program may continue with the lock held after an exception left a chain of calls.
func (x *escapes) mayContinue(chain []call, thread bool) bool { return x.find(chain, thread) != never }

// find returns the effect of an exception that leaves a chain of calls, the innermost first. The last one is in a
// function on a stack; its callers are those on the stacks. Without a handler, the exception would have ended the
// program. For the end of a thread, no handler is needed.
func (x *escapes) find(chain []call, thread bool) escape {
	for _, c := range chain {
		if c.jump {
			continue
		}
		switch x.fateAt(c, thread) {
		case released:
			return never
		case caught:
			return handled
		}
	}
	best := never
	start, routes := chain[len(chain)-1].f.entry, 0
	seen := map[uint64]bool{}
	for _, t := range x.threads {
		for i := range min(len(t.Frames), maxFrames) {
			if f := x.p.frameFunction(&t.Frames[i]); f == nil || f.entry != start {
				continue
			}
			// Threads of a team mostly have the same callers.
			key := routeKey(t.Frames[i+1:])
			if routes == maxRoutes || seen[key] {
				continue
			}
			seen[key] = true
			routes++
			if best = max(best, x.findFrom(t, i+1, thread)); best == handled {
				return handled
			}
		}
	}
	if routes == 0 {
		return perhaps
	}
	return best
}

// routeKey identifies the callers of a frame.
func routeKey(fs []Frame) uint64 {
	const prime = 1099511628211 // FNV-1a
	key := uint64(14695981039346656037)
	for i := range fs {
		key = (key ^ fs[i].PC) * prime
	}
	return key
}

// findFrom returns the effect of an exception that reaches the frames of t from index i on.
func (x *escapes) findFrom(t *Thread, i int, thread bool) escape {
	for ; i < len(t.Frames); i++ {
		fr := &t.Frames[i]
		switch x.fateAt(call{f: x.p.frameFunction(fr), pc: fr.lookup()}, thread) {
		case released:
			return never
		case caught:
			return handled
		}
	}
	switch {
	case thread:
		return handled
	case !t.Whole:
		return perhaps
	}
	return never
}

// fateAt returns the effect of the function around a call.
func (x *escapes) fateAt(c call, thread bool) fate {
	if x.p.cfg.Handler == nil {
		return caught
	}
	if f, ok := x.fates[c.pc]; ok && !thread {
		return f
	}
	f := x.findFate(c, thread)
	if !thread {
		x.fates[c.pc] = f
	}
	return f
}

func (x *escapes) findFate(c call, thread bool) fate {
	h := x.p.cfg.Handler(c.pc)
	switch {
	case h.Ends, h.Runtime && !thread:
		return released
	case h.Pad == 0, c.f == nil && !h.Catches:
		return passes
	case c.f == nil:
		return caught
	case x.p.isFatal(c.f, h):
		return released
	}
	releases, continues := x.followPad(h.Pad)
	switch {
	case releases:
		return released
	case h.Catches && continues && !thread:
		return caught
	}
	return passes
}

// maxParts bounds the parts of a function that are followed from a landing pad.
const maxParts = 8

// followPad follows the code from a landing pad on, also through jumps between the parts of its function. It reports
// whether the code may release a lock of the family, and whether it continues with the lock held.
func (x *escapes) followPad(pad uint64) (releases, continues bool) {
	seen := map[uint64]bool{}
	for work := []uint64{pad}; len(work) > 0 && len(seen) < maxParts; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		f := x.p.functionAt(pc)
		if seen[pc] || f == nil {
			continue
		}
		seen[pc] = true
		from, ok := flow.AheadOf(f.flow, flow.Point{PC: pc, Exact: true})
		if !ok {
			continue
		}
		all, sites := x.p.sitesOf(f), x.p.familySites(f, x.family)
		stops, parts := make([]bool, len(all)), make([]bool, len(all))
		for k, e := range sites.effects {
			// A function that acquires a lock before it releases it releases none that is held here.
			first := e.first()
			stops[sites.site[k]] = stops[sites.site[k]] || first == flow.Sets || first == flow.NoReturn
		}
		reached, returns := from.Reach(flow.Paths{Stops: stops})
		continues = continues || returns
		for i := range all {
			s := &all[i]
			isPart := !x.p.BeginsFunction(s.entry) || x.p.jumpsInto(s.entry, f)
			if reached[i] && s.Return == 0 && s.kind == calleeFollowed && isPart {
				parts[i], work = true, append(work, s.entry)
			}
			continues = continues || reached[i] && stops[i]
		}
		for k, e := range sites.effects {
			s := sites.site[k]
			releases = releases || reached[s] && !parts[s] && e.first().MayClears()
		}
	}
	return releases, continues
}

// jumpsInto reports whether the function at entry jumps to a place in f after its start: then it is a part of f that
// the compiler put elsewhere.
func (p *Program) jumpsInto(entry uint64, f *function) bool {
	g := p.functionAt(entry)
	return g != nil && g != f && slices.ContainsFunc(p.sitesOf(g), func(s site) bool {
		return s.Return == 0 && s.kind == calleeFollowed && s.entry != f.entry && p.functionAt(s.entry) == f
	})
}
