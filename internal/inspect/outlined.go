package inspect

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A construct of the program is one frame to people, but compilers make up to
// two functions of it: clang's wrapper and the body with the debug information
// (.omp_outlined. and .omp_outlined._debug__), or a task's entry and its body.

// mergeOutlined makes one frame of each construct, and adds which it is, and in which
// function of the program it stands.
func (u *userModel) mergeOutlined(fs []picture.Frame) []picture.Frame {
	out := make([]picture.Frame, 0, len(fs))
	bodies := make([]*picture.Hex, 0, len(fs)) // their entries, by frame of out
	for _, f := range fs {
		if len(out) > 0 && wraps(f, out[len(out)-1]) {
			body := &out[len(out)-1]
			body.Construct, body.Inlined, body.Entry = f.Construct, f.Inlined, f.Entry
			continue
		}
		out, bodies = append(out, f), append(bodies, f.Entry)
	}
	for i := len(out) - 1; i >= 0; i-- {
		f := &out[i]
		if f.Construct == "" {
			continue
		}
		var known stacks.Construct
		if f.Entry != nil {
			known = u.constructs()[uint64(*f.Entry)]
		}
		if f.Construct == symbolize.ConstructOutlined && known.Kind != "" {
			f.Construct = known.Kind
		}
		if f.In == "" {
			f.In = known.Function
		}
		if f.In == "" && f.Construct == symbolize.ConstructParallel && i+1 < len(out) &&
			out[i+1].Kind == picture.FrameUser {
			if f.In = out[i+1].In; out[i+1].Construct == "" {
				f.In = out[i+1].Function
			}
		}
		u.code.NoteConstruct(stacks.Construct{Kind: f.Construct, Function: f.In}, f.Entry, bodies[i])
	}
	return out
}

// constructs has, by the entry of an outlined function, its construct: of all regions,
// and of the tasks that threads have begun.
func (u *userModel) constructs() map[uint64]stacks.Construct {
	if u.constructOf != nil {
		return u.constructOf
	}
	u.constructOf = map[uint64]stacks.Construct{}
	for _, v := range u.regions.all() {
		if fn := v.info.Function; !fn.IsNull() {
			c := stacks.Construct{Function: v.info.Source.Function}
			if v.info.League == 0 { // the league itself is of a teams construct
				c.Kind = symbolize.ConstructParallel
			}
			u.constructOf[fn.Offset] = c
		}
	}
	for _, n := range u.roster.natives {
		if len(n.chain) > 0 {
			u.addTasks(n)
		}
	}
	return u.constructOf
}

// addTasks adds the constructs of the explicit tasks that a thread executes or has
// suspended.
func (u *userModel) addTasks(n *native) {
	h, err := n.rt.CurrentTask(n.h)
	for depth := 0; err == nil && depth < MaxLevels; depth++ {
		info, infoErr := n.rt.Task(h)
		if infoErr != nil || info.Kind != picture.TaskExplicit {
			return
		}
		if fn := info.Function; !fn.IsNull() {
			c := stacks.Construct{Kind: symbolize.ConstructTask, Function: info.Source.Function}
			if known, ok := u.constructOf[fn.Offset]; ok && known.Kind != symbolize.ConstructTask {
				c.Kind = "" // compilers make one function of two that are the same
			}
			u.constructOf[fn.Offset] = c
		}
		h, err = n.rt.SchedulingTask(h)
	}
}

// wraps reports whether frame outer is only the compiler's wrapper of frame body,
// which it called.
func wraps(outer, body picture.Frame) bool {
	switch {
	case outer.Construct != body.Construct || outer.LWP != 0 || outer.How == howTailFork || outer.How == howTailCall:
		return false
	case body.Construct == symbolize.ConstructTask: // the body is inlined
		return symbolize.IsTaskEntry(outer.Function) && body.Inlined && *body.PC == *outer.PC
	}
	return body.Construct != "" && callsBody(outer, body.Function)
}

// callsBody reports whether a call at a place of some construct, of a function, is only that by which
// the compiler's wrapper of the construct calls its body: it tells nothing of where in the construct
// something was done.
func callsBody(at picture.Frame, function string) bool {
	const debug = "_debug__"
	return at.Construct != "" && strings.Contains(function, debug) && !strings.Contains(at.Function, debug)
}

// serializedCode names the function of a serialized region for which the runtime
// keeps none, since a region inside it is executed on the same team: from the
// stack of the one thread that executes them all. Each serialized region has one
// outlined frame there, unless its call was a tail call; then nothing is said.
func (u *userModel) serializedCode(v *regionView) *picture.Code {
	p := u.regions.primary(v)
	if p == nil || v.info.TeamSize != 1 {
		return nil
	}
	end := len(p.chain)
	if own := u.regions.ownRegion(p, p.chain); own >= 0 {
		end = own + 1
	}
	at := p.indexOf(v.h)
	if at < 0 || at >= end {
		at = 0
	}
	code := u.outlinedCode(p, end)
	if at >= len(code) {
		return nil
	}
	c := code[at]
	return &c
}

// regionCode names the region's function and the source line of its construct:
// as the compiler told the runtime, else from debug information, else the line
// of the call that forked it.
func (u *userModel) regionCode(v *regionView) *picture.Code {
	if v.code == nil {
		v.code = u.findRegionCode(v)
	}
	if v.code == nil {
		return nil
	}
	c := *v.code
	return &c
}

func (u *userModel) findRegionCode(v *regionView) *picture.Code {
	c := u.code.CodeAt(v.info.Function, v.info.Source)
	if c.Line == 0 {
		if f, ok := u.forkFrame(v); ok {
			c.File, c.Line, c.LineFrom = f.File, f.Line, "call site"
		}
	}
	if c.Address == nil && c.Line == 0 && c.Name == "" {
		return u.serializedCode(v)
	}
	return c
}

// taskCode names a task's function and the source line of its construct; an
// implicit task has those of its region.
func (u *userModel) taskCode(v *regionView, info handles.TaskInfo) *picture.Code {
	switch info.Kind {
	case picture.TaskInitial:
		return nil
	case picture.TaskImplicit:
		return u.regionCode(v)
	}
	c := u.code.CodeAt(info.Function, info.Source)
	if c.Address == nil && c.Line == 0 {
		return nil
	}
	return c
}

// forkFrame returns the user frame that forked region v.
func (u *userModel) forkFrame(v *regionView) (picture.Frame, bool) {
	p := u.regions.primary(v)
	if p == nil {
		return picture.Frame{}, false
	}
	user, ok := u.forkPoint(p, v)
	st := p.Stack()
	if !ok || user >= len(st.Kinds) || st.Kinds[user] != stacks.KindUser {
		return picture.Frame{}, false
	}
	fs := u.code.Frames(st.Frames[user], stacks.KindUser)
	return fs[0], fs[0].Line != 0
}
