package inspect

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

var errNoForkFrame = errors.New("the frame that forked the thread's region was not found, its stack ends in the thread's own frames")

func appendOnce(errs []error, err error) []error {
	if slices.Contains(errs, err) {
		return errs
	}
	return append(errs, err)
}

// roleRank orders threads as people look for them.
var roleRank = map[rtl.Role]int{rtl.RoleInitial: 0, rtl.RolePrimary: 1, rtl.RoleWorker: 2, rtl.RoleIdle: 3, rtl.RoleNone: 4, "": 4}

// sorted returns the threads in the order of the picture: the one that crashed,
// then by runtime and role, region, thread number and LWP.
func (in *Inspector) sorted() []*native {
	out := slices.Clone(in.natives)
	slices.SortStableFunc(out, func(a, b *native) int {
		return cmp.Or(
			-compareBool(a.lwp != 0 && a.lwp == in.cfg.About.CrashedLWP, b.lwp != 0 && b.lwp == in.cfg.About.CrashedLWP),
			cmp.Compare(roleRank[a.info.Role], roleRank[b.info.Role]),
			cmp.Compare(a.info.Number, b.info.Number),
			cmp.Compare(a.lwp, b.lwp),
		)
	})
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Threads returns all threads, the crashed one first.
func (in *Inspector) Threads(native bool) []Thread {
	var out []Thread
	for _, n := range in.sorted() {
		out = append(out, in.thread(n, native))
	}
	return out
}

func (in *Inspector) thread(n *native, native bool) Thread {
	t := Thread{LWP: n.lwp, Pthread: hexPtr(n.pthread), Role: string(rtl.RoleNone), Crashed: n.lwp != 0 && n.lwp == in.cfg.About.CrashedLWP}
	state := rtl.StateUndefined
	if n.rt != nil {
		state = in.fillOpenMP(&t, n)
	}
	if n.lwp != 0 {
		t.UserStack = in.userStack(n, state)
		t.Goroutine = in.stackOf(n).goroutine()
	}
	if native {
		st := in.stackOf(n)
		for i, f := range st.frames {
			t.Stack = append(t.Stack, named(f, st.kinds[i], in.lookupNative(f.LookupPC(), st.kinds[i]))...)
		}
	}
	for _, err := range n.errs {
		t.Errors = append(t.Errors, message(err))
	}
	return t
}

// fillOpenMP adds what the runtime knows of the thread and returns its state.
func (in *Inspector) fillOpenMP(t *Thread, n *native) rtl.State {
	t.Runtime, t.Number, t.Hidden = n.rt.id, &n.info.Number, n.info.HiddenHelper
	if n.info.Role != "" {
		t.Role = string(n.info.Role)
	}
	in.fillPlace(t, n)
	if n.lwp == 0 {
		return rtl.StateUndefined // nothing tells what a thread does that is not there
	}
	ts, err := in.stateOf(n)
	if err != nil {
		n.errs = append(n.errs, err)
		return rtl.StateUndefined
	}
	t.State = &State{Name: ts.State.String(), Source: "inferred", Evidence: ts.Evidence}
	if ts.Tracked {
		t.State.Source = "tracked"
	}
	t.Loop = in.loopOf(n)
	wait := cmp.Or(ts.WaitVariable, ts.WaitID) // as the program names it, if that is known
	t.WaitID, t.WaitKind = hexPtr(wait), ts.WaitKind
	if w, ok := in.runtimeWait(n); ok {
		t.WaitName = w.Name
	}
	return ts.State
}

// stateOf asks the runtime of n, at most once, what n does.
func (in *Inspector) stateOf(n *native) (rtl.ThreadState, error) {
	if n.state == nil {
		n.state = &threadState{}
		n.state.ThreadState, n.state.err = n.rt.State(n.h, in.evidence(n))
		in.byVariable(&n.state.ThreadState)
	}
	return n.state.ThreadState, n.state.err
}

// byVariable tells a critical section from a lock, where the runtime cannot, by the
// name that compilers give to its variable.
func (in *Inspector) byVariable(st *rtl.ThreadState) {
	name := in.dataName(cmp.Or(st.WaitVariable, st.WaitID))
	if _, critical := rtl.CriticalName(name); st.State == rtl.StateWaitMutex && critical {
		st.State, st.WaitKind = rtl.StateWaitCritical, rtl.FamilyCritical
		st.Evidence = rtl.JoinEvidence(st.Evidence, "its variable has the name of one of a critical section")
	}
}

// dataName names the program's variable at addr, or "".
func (in *Inspector) dataName(addr uint64) string {
	if addr == 0 || in.cfg.Symbolizer == nil {
		return ""
	}
	s, ok := in.cfg.Symbolizer.Data(addr)
	if !ok || s.Offset != 0 {
		return ""
	}
	return s.Name
}

// fillPlace adds region, task, and the thread's number and team at each level.
func (in *Inspector) fillPlace(t *Thread, n *native) {
	if len(n.chain) == 0 {
		return
	}
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		t.Task = taskID(h)
	} else if !errors.Is(err, callbacks.Unavailable) && !errors.Is(err, callbacks.Unsupported) {
		n.errs = append(n.errs, err)
	}
	// In a league, the initial task of each team starts a new level 0: what is
	// further out is the region that encloses the league.
	outermost := max(0, slices.IndexFunc(n.chain, func(h handles.Parallel) bool { return h.Level == 0 }))
	for i := outermost; i >= 0; i-- {
		t.Levels = append(t.Levels, in.levelInfo(n, n.chain[i]))
	}
	inner := t.Levels[len(t.Levels)-1]
	v := in.regions.get(n.rt, n.chain[0])
	t.Region, t.Level, t.ThreadNum, t.TeamSize = inner.Region, &inner.Level, inner.ThreadNum, inner.TeamSize
	if v.err == nil {
		t.ActiveLevel = &v.info.ActiveLevel
	}
}

func (in *Inspector) levelInfo(n *native, h handles.Parallel) LevelInfo {
	l := LevelInfo{Level: int(h.Level), Region: regionID(h)}
	v := in.regions.get(n.rt, h)
	if v.err != nil {
		n.errs = append(n.errs, v.err)
		return l
	}
	l.TeamSize = &v.info.TeamSize
	if num, ok := in.threadNumAt(n, h); ok {
		l.ThreadNum = &num
	}
	return l
}
