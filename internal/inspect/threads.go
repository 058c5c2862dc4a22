package inspect

import (
	"cmp"
	"errors"
	"slices"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
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
	notes   *stacks.Notes
	roster  *roster
	code    *stacks.Code
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
		if l.notes.Exceeded("threads") {
			out = append(out, picture.Thread{LWP: n.LWP, Pthread: picture.Address(n.Pthread), Role: picture.RoleNone})
			continue
		}
		t := l.thread(n, native)
		l.notes.Hold("threads", unsafe.Sizeof(t)+uintptr(len(t.UserStack)+len(t.Stack))*frameCost)
		out = append(out, t)
	}
	return out
}

func (l *threadLister) thread(n *native, native bool) picture.Thread {
	t := picture.Thread{
		LWP: n.LWP, Pthread: picture.Address(n.Pthread), Role: picture.RoleNone,
		Crashed: n.LWP != 0 && n.LWP == l.about.CrashedLWP,
	}
	state := handles.StateUndefined
	if n.blank != nil {
		t.Role = picture.RoleUnknown
		n.Errs = appendOnce(n.Errs, n.blank)
	}
	if why := l.unreadable(n); why != "" {
		t.Role = picture.RoleUnknown
		n.Errs = appendOnce(n.Errs, errors.New("what it is to OpenMP "+why))
	}
	switch {
	case l.overwritten(n):
		t.Runtime, t.Role = n.rt.id, picture.RoleUnknown
		n.Errs = []error{errOverwritten}
	case n.rt != nil:
		state = l.fillOpenMP(&t, n)
	}
	if n.LWP != 0 && n.blank == nil {
		t.UserStack = l.model.userStack(n, state)
		t.Goroutine = n.Stack().Goroutine()
		t.MPI = l.mpi.call(n)
	}
	if native {
		st := n.Stack()
		for i, f := range st.Frames {
			t.Stack = append(t.Stack, l.code.NativeFrames(f, st.Kinds[i])...)
		}
	}
	for _, err := range n.Errs {
		if !l.notes.IsLimit(err, "threads") {
			t.Errors = append(t.Errors, stacks.Message(err))
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
	if n.LWP == 0 {
		return handles.StateUndefined // nothing tells what a thread does that is not there
	}
	ts, err := l.states.stateOf(n)
	if err != nil {
		n.Errs = append(n.Errs, err)
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
		n.Errs = append(n.Errs, err)
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
		n.Errs = append(n.Errs, v.err)
		return out
	}
	out.TeamSize = &v.info.TeamSize
	if num, ok := l.regions.threadNumAt(n, h); ok {
		out.ThreadNum = &num
	}
	return out
}
