package teams

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A user sees a construct as one frame, but compilers make up to two functions of it: clang's wrapper and the body
// with the debug information (.omp_outlined. and .omp_outlined._debug__), or a task's entry and its body.

// mergeOutlined makes one frame of each construct. It adds the construct's kind and the function of the program
// that contains it.
func (u *UserModel) mergeOutlined(fs []picture.Frame) []picture.Frame {
	out := make([]picture.Frame, 0, len(fs))
	bodies := make([]*picture.Hex, 0, len(fs)) // their entries, by frame of out
	for _, f := range fs {
		if len(out) > 0 && isWrapper(f, out[len(out)-1]) {
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
			known = u.Constructs()[uint64(*f.Entry)]
		}
		switch {
		case f.Construct == symbolize.ConstructOutlined && known.Kind != "",
			// clang's functions of teams constructs are named as those of parallel constructs.
			f.Construct == symbolize.ConstructParallel && known.Kind == symbolize.ConstructTeams,
			f.Construct == symbolize.ConstructParallel && known.Kind == symbolize.ConstructOutlined:
			f.Construct = known.Kind
		}
		if f.In == "" {
			f.In = known.Function
		}
		regional := f.Construct == symbolize.ConstructParallel || f.Construct == symbolize.ConstructTeams
		if f.In == "" && regional && i+1 < len(out) &&
			out[i+1].Kind == picture.FrameUser {
			if f.In = out[i+1].In; out[i+1].Construct == "" {
				f.In = out[i+1].Function
			}
		}
		u.code.NoteConstruct(stacks.Construct{Kind: f.Construct, Function: f.In}, f.Entry, bodies[i])
	}
	return out
}

// Constructs returns the constructs of all regions, and of the tasks that threads have started, by the entry of
// the outlined function.
func (u *UserModel) Constructs() map[uint64]stacks.Construct {
	if u.constructOf != nil {
		return u.constructOf
	}
	u.constructOf = map[uint64]stacks.Construct{}
	for _, v := range u.regions.All() {
		if fn := v.Info.Function; !fn.IsNull() {
			c := stacks.Construct{Kind: symbolize.ConstructParallel, Function: v.Info.Source.Function}
			if v.Info.League > 0 && v.Handle.Level == 0 {
				c.Kind = symbolize.ConstructTeams
			}
			if known, ok := u.constructOf[fn.Offset]; ok && known.Kind != c.Kind {
				c = stacks.Construct{Kind: symbolize.ConstructOutlined} // compilers and linkers merge equal functions
			}
			u.constructOf[fn.Offset] = c
		}
	}
	for _, n := range u.threads.All {
		if len(n.Chain) > 0 {
			u.addTasks(n)
		}
	}
	u.addForked()
	return u.constructOf
}

// addForked adds the constructs of functions that GNU's runtime has called on the stacks of threads that forked
// regions: a serialized region and a teams construct have no function in its structures.
func (u *UserModel) addForked() {
	if u.code.Symbols == nil {
		return
	}
	seen := map[uint64]bool{} // call of a function by the runtime
	for _, n := range u.threads.All {
		if len(n.Chain) == 0 {
			continue
		}
		st := n.Stack()
		for i := 1; i < len(st.Kinds); i++ {
			pc := st.Frames[i].PC
			if st.Kinds[i] != stacks.KindRuntime || st.Kinds[i-1] != stacks.KindUser || seen[pc] {
				continue
			}
			name, _, _ := u.code.Symbols.Exported(st.Frames[i].LookupPC())
			_, league := rtl.LeagueFunction(name)
			if kind, _ := rtl.ForkCallOf(name); kind != rtl.ForkMakes {
				seen[pc] = true
				continue
			}
			entry, ok := calledConstruct(u.code, st, i)
			if _, known := u.constructOf[entry]; !ok || known || entry == 0 {
				continue
			}
			c := stacks.Construct{Kind: symbolize.ConstructParallel}
			if league {
				c.Kind = symbolize.ConstructTeams
			}
			u.constructOf[entry] = c
		}
	}
}

// addTasks adds the constructs of the explicit tasks that a thread executes or has suspended.
func (u *UserModel) addTasks(n *Thread) {
	h, err := n.Runtime.CurrentTask(n.Handle)
	for depth := 0; err == nil && depth < MaxLevels; depth++ {
		info, infoErr := n.Runtime.Task(h)
		if infoErr != nil || info.Kind != picture.TaskExplicit {
			return
		}
		if fn := info.Function; !fn.IsNull() {
			c := stacks.Construct{Kind: symbolize.ConstructTask, Function: info.Source.Function}
			if known, ok := u.constructOf[fn.Offset]; ok && known.Kind != symbolize.ConstructTask {
				c.Kind = "" // compilers merge equal functions
			}
			u.constructOf[fn.Offset] = c
		}
		h, err = n.Runtime.SchedulingTask(h)
	}
}

// isWrapper reports whether frame outer is only the compiler's wrapper of frame body, which it called.
func isWrapper(outer, body picture.Frame) bool {
	switch {
	case outer.Construct != body.Construct || outer.LWP != 0:
		return false
	case outer.How == howTailCall && (!body.Inlined || *body.PC != *outer.PC): // body may be of another region
		return false
	case body.Construct == symbolize.ConstructTask: // the body is inlined
		return symbolize.IsTaskEntry(outer.Function) && body.Inlined && *body.PC == *outer.PC
	}
	return body.Construct != "" && CallsBody(outer, body.Function)
}

// CallsBody reports whether a call in a construct is only the one by which the compiler's wrapper calls the
// construct's body. Its line is no place in the construct.
func CallsBody(at picture.Frame, function string) bool {
	return at.Construct != "" && symbolize.IsDebugTwin(function) && !symbolize.IsDebugTwin(at.Function)
}

// serializedCode names the function of a serialized region by the stack of its one thread. The runtime keeps no
// function if a region inside it runs on the same team. Each serialized region has one outlined frame there,
// unless its call was a tail call; then the result is nil.
func (u *UserModel) serializedCode(v *Region) *picture.Code {
	p := u.regions.Primary(v)
	if p == nil || v.Info.TeamSize != 1 {
		return nil
	}
	end := len(p.Chain)
	if own := u.regions.ownRegion(p, p.Chain); own >= 0 {
		end = own + 1
	}
	at := p.RegionIndex(v.Handle)
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

// regionCode names a region's function and the source line of its construct: as the compiler passed it to the
// runtime, else from debug information, else the line of the call that forked it.
func (u *UserModel) regionCode(v *Region) *picture.Code {
	if v.code == nil {
		v.code = u.findRegionCode(v)
	}
	if v.code == nil {
		return nil
	}
	c := *v.code
	return &c
}

// findRegionCode finds the code of a region.
func (u *UserModel) findRegionCode(v *Region) *picture.Code {
	c := u.code.CodeAt(u.functionOf(v))
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

// taskCode names a task's function and the source line of its construct; an implicit task has those of its
// region.
func (u *UserModel) taskCode(v *Region, info handles.TaskInfo) *picture.Code {
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
func (u *UserModel) forkFrame(v *Region) (picture.Frame, bool) {
	p := u.regions.Primary(v)
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
