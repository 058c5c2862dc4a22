package inspect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkFinder finds what decided on the sizes of regions.
type forkFinder struct {
	regions *regionTable
	code    *stacks.Code
	flows   forkCode
	model   *userModel
}

// fork finds what decided on the size of a region; not ok for one of level 0.
func (ff *forkFinder) fork(v *regionView) (picture.Fork, bool) {
	if v.err != nil || v.h.Level == 0 || v.parent.IsZero() {
		return picture.Fork{}, false
	}
	parent := ff.regions.get(v.rt, v.parent)
	f := picture.Fork{Region: regionID(v.h), ActiveLevels: parent.info.ActiveLevel}
	ff.forkSettings(v, &f)
	ff.forkClauses(v, &f)
	return f, true
}

// forkSettings reads the control variables of the task that encountered v.
func (ff *forkFinder) forkSettings(v *regionView, f *picture.Fork) {
	task, err := v.rt.TaskInParallel(v.parent, max(0, v.info.PrimaryNum))
	if err != nil {
		return
	}
	read := func(name string) (*int, string) {
		val, ok := readSetting(v.rt, name, task)
		if n, err := strconv.Atoi(firstOf(val.Text)); ok && err == nil && n >= 0 {
			return &n, val.Text
		}
		return nil, val.Text
	}
	f.NThreads, _ = read("nthreads-var")
	f.MaxActiveLevels, _ = read("max-active-levels-var")
	f.ThreadLimit, _ = read("thread-limit-var")
	f.NumProcs, _ = read("num-procs-var")
	_, dynamic := read("dyn-var")
	_, nest := read("nest-var")
	f.Dynamic, f.NestOff = dynamic == "true", nest == "false"
}

// firstOf is the first element of a list.
func firstOf(text string) string {
	text, _, _ = strings.Cut(text, ",")
	return strings.TrimSpace(text)
}

// readSetting reads a control variable as task has it, or the program.
func readSetting(rt *runtimeView, name string, task handles.Task) (handles.ICVValue, bool) {
	for i, d := range rt.ICVs() {
		if d.Name != name {
			continue
		}
		s := handles.Subject{Scope: d.Scope}
		switch d.Scope {
		case handles.ScopeTask, handles.ScopeImplicitTask:
			s.Task = task
		case handles.ScopeGlobal, handles.ScopeAddressSpace:
		default:
			return handles.ICVValue{}, false
		}
		v, err := rt.ICV(i+1, s)
		return v, err == nil
	}
	return handles.ICVValue{}, false
}

// forkClauses finds the clauses of the construct in the code that forked v.
func (ff *forkFinder) forkClauses(v *regionView, f *picture.Fork) {
	p := ff.regions.primary(v)
	if p == nil {
		return
	}
	st := p.Stack()
	if at, ok := ff.model.forkPoint(p, v); ok && at < len(st.Frames) && st.Kinds[at] == stacks.KindUser {
		fr := *ff.code.InnermostFrame(st.Frames[at], stacks.KindUser)
		f.Frame = &fr
		n, known, found := ff.flows.sizeArgument(st, at)
		f.MaybeIf = found
		if !found {
			n, known, found = ff.flows.between(st, at, rtl.ForkAsks, 2)
		}
		if !found {
			n, known, found, f.MaybeIf = ff.flows.beforeTail(st, at)
		}
		if size := int(int32(n)); known && size != 0 {
			f.Clause, f.ClauseValue = true, &size
		} else if !known {
			f.Clause = found
		}
		return
	}
	ff.serializedByIf(p, v, f)
}

// serializedByIf reports whether v is executed by one thread since its if clause
// was false: code for that calls the outlined function itself. Regions and frames
// are matched only if there are as many of the one as of the other.
func (ff *forkFinder) serializedByIf(p *native, v *regionView, f *picture.Fork) {
	st := p.Stack()
	var calls []int
	for i := range st.Frames {
		if st.Kinds[i] == stacks.KindUser {
			if _, _, ok := ff.flows.between(st, i, rtl.ForkSerial, 0); ok {
				calls = append(calls, i)
			}
		}
	}
	var serial []handles.Parallel
	for _, h := range p.chain {
		r := ff.regions.get(p.rt, h)
		if _, forked := ff.model.forkPoint(p, r); r.info.Serialized && !forked {
			serial = append(serial, h)
		}
	}
	n := slices.Index(serial, v.h)
	if n < 0 || len(serial) != len(calls) {
		return
	}
	fr := *ff.code.InnermostFrame(st.Frames[calls[n]], stacks.KindUser)
	f.Frame, f.IfFalse = &fr, true
}

// facts are what decided on the sizes of the regions.
func (ff *forkFinder) facts() []picture.Fork {
	var out []picture.Fork
	for _, v := range ff.regions.all() {
		if f, ok := ff.fork(v); ok {
			out = append(out, f)
		}
	}
	return out
}
