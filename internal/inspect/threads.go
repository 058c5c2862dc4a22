package inspect

import (
	"cmp"
	"errors"
	"slices"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

var errNoForkFrame = errors.New(
	"the call that began the thread's parallel region was not found on the stack of the thread that made it: the " +
		"stack shown has only the thread's own frames")

func appendOnce(errs []error, err error) []error {
	if slices.Contains(errs, err) {
		return errs
	}
	return append(errs, err)
}

// roleRank orders threads as people look for them.
var roleRank = map[picture.Role]int{
	picture.RoleInitial: 0, picture.RolePrimary: 1, picture.RoleWorker: 2, picture.RoleIdle: 3, picture.RoleNone: 4,
	"": 4,
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

// frameCost is what a frame of a picture takes, in bytes: with its addresses, and copies
// of it in merged stacks and facts.
const frameCost = 3 * unsafe.Sizeof(picture.Frame{})

// threadLister makes the threads of a picture.
type threadLister struct {
	about   *picture.Target
	notes   *notes
	roster  *roster
	code    *codeNames
	stacks  *stacks
	regions *regionTable
	model   *userModel
	states  *states
	loops   *loops
	waits   *waitFinder
	mpi     *mpiCalls
	unread  func() []unreadRuntime
}

// list returns all threads, the crashed one first.
func (l *threadLister) list(native bool) []picture.Thread {
	var out []picture.Thread
	for _, n := range l.roster.sorted() {
		if l.notes.over("threads") {
			out = append(out, picture.Thread{LWP: n.lwp, Pthread: picture.Address(n.pthread), Role: picture.RoleNone})
			continue
		}
		t := l.thread(n, native)
		l.notes.hold("threads", unsafe.Sizeof(t)+uintptr(len(t.UserStack)+len(t.Stack))*frameCost)
		out = append(out, t)
	}
	return out
}

func (l *threadLister) thread(n *native, native bool) picture.Thread {
	t := picture.Thread{
		LWP: n.lwp, Pthread: picture.Address(n.pthread), Role: picture.RoleNone,
		Crashed: n.lwp != 0 && n.lwp == l.about.CrashedLWP,
	}
	state := handles.StateUndefined
	if n.blank != nil {
		t.Role = picture.RoleUnknown
		n.errs = appendOnce(n.errs, n.blank)
	}
	if why := l.unreadable(n); why != "" {
		t.Role = picture.RoleUnknown
		n.errs = appendOnce(n.errs, errors.New("what it is to OpenMP "+why))
	}
	switch {
	case l.overwritten(n):
		t.Runtime, t.Role = n.rt.id, picture.RoleUnknown
		n.errs = []error{errOverwritten}
	case n.rt != nil:
		state = l.fillOpenMP(&t, n)
	}
	if n.lwp != 0 && n.blank == nil {
		t.UserStack = l.model.userStack(n, state)
		t.Goroutine = l.stacks.stackOf(n).goroutine()
		t.MPI = l.mpi.call(n)
	}
	if native {
		st := l.stacks.stackOf(n)
		for i, f := range st.frames {
			frames := named(f, st.kinds[i], l.code.lookupNative(f.LookupPC(), st.kinds[i]))
			l.code.values.add(f, st.kinds[i], frames)
			t.Stack = append(t.Stack, frames...)
		}
	}
	for _, err := range n.errs {
		if !l.notes.beyond(err, "threads") {
			t.Errors = append(t.Errors, message(err))
		}
	}
	return t
}

// fillOpenMP adds what the runtime knows of the thread and returns its state.
func (l *threadLister) fillOpenMP(t *picture.Thread, n *native) handles.State {
	t.Runtime, t.Number, t.Hidden = n.rt.id, &n.info.Number, n.info.HiddenHelper
	switch {
	case n.infoErr != nil:
		t.Role = picture.RoleUnknown
	case n.info.Role != "":
		t.Role = n.info.Role
	}
	l.fillPlace(t, n)
	if n.lwp == 0 {
		return handles.StateUndefined // nothing tells what a thread does that is not there
	}
	ts, err := l.states.stateOf(n)
	if err != nil {
		n.errs = append(n.errs, err)
		return handles.StateUndefined
	}
	t.State = &picture.State{Name: ts.State.Name(), Source: stateSource(ts.Tracked), Evidence: ts.Evidence}
	if ts.Ending {
		t.State.Name, t.State.Standard = picture.StateEnding, t.State.Name
		return ts.State
	}
	t.Loop = l.loops.of(n)
	wait := cmp.Or(ts.WaitVariable, ts.WaitID) // as the program names it, if that is known
	t.WaitID, t.WaitKind = picture.Address(wait), ts.WaitKind
	if w, ok := l.waits.runtimeWait(n); ok {
		t.WaitName = w.Name
	}
	l.ownState(t, n)
	return ts.State
}

// fillPlace adds region, task, and the thread's number and team at each level.
func (l *threadLister) fillPlace(t *picture.Thread, n *native) {
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
		t.Levels = append(t.Levels, l.levelInfo(n, n.chain[i]))
	}
	inner := t.Levels[len(t.Levels)-1]
	v := l.regions.get(n.rt, n.chain[0])
	t.Region, t.Level, t.ThreadNum, t.TeamSize = inner.Region, &inner.Level, inner.ThreadNum, inner.TeamSize
	if v.err == nil {
		t.ActiveLevel = &v.info.ActiveLevel
	}
}

func (l *threadLister) levelInfo(n *native, h handles.Parallel) picture.LevelInfo {
	out := picture.LevelInfo{Level: int(h.Level), Region: regionID(h)}
	v := l.regions.get(n.rt, h)
	if v.err != nil {
		n.errs = append(n.errs, v.err)
		return out
	}
	out.TeamSize = &v.info.TeamSize
	if num, ok := l.regions.threadNumAt(n, h); ok {
		out.ThreadNum = &num
	}
	return out
}
