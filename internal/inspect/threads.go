package inspect

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/waits"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// frameCost is the memory that a frame of a picture takes, in bytes: with its addresses, and copies of it in
// merged stacks and facts.
const frameCost = 3 * unsafe.Sizeof(picture.Frame{})

// threadLister makes the threads of a picture.
type threadLister struct {
	about   *picture.Target
	notes   *stacks.Notes
	roster  *teams.ThreadTable
	code    *stacks.Code
	regions *teams.RegionTable
	model   *teams.UserModel
	states  *teams.States
	loops   *teams.Loops
	waits   *waits.Finder
	mpi     *mpiCalls
	unread  func() []unreadRuntime
}

// list returns all threads, the crashed one first.
func (l *threadLister) list(native bool) []picture.Thread {
	var out []picture.Thread
	for _, n := range l.roster.Sorted() {
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

func (l *threadLister) thread(n *teams.Thread, native bool) picture.Thread {
	t := picture.Thread{
		LWP: n.LWP, Pthread: picture.Address(n.Pthread), Role: picture.RoleNone,
		Crashed: n.LWP != 0 && n.LWP == l.about.CrashedLWP,
	}
	state := handles.StateUndefined
	if n.Missing != nil {
		t.Role = picture.RoleUnknown
		n.AddError(n.Missing)
	}
	if why := l.unreadable(n); why != "" {
		t.Role = picture.RoleUnknown
		n.AddError(errors.New("what it is to OpenMP " + why))
	}
	switch {
	case l.overwritten(n):
		t.Runtime, t.Role = n.Runtime.ID, picture.RoleUnknown
		n.Errs = []error{errOverwritten}
	case n.Runtime != nil:
		state = l.fillOpenMP(&t, n)
	case n.LWP != 0 && n.Missing == nil:
		l.waits.AddInterpreterWait(&t, n)
		state = l.waits.AddLockWait(&t, n)
	}
	if n.LWP != 0 && n.Missing == nil {
		t.Target = l.waits.TargetConstruct(n)
		t.UserStack = l.model.StackOf(n, state)
		setConstructLine(&t)
		t.Goroutine = n.Stack().Goroutine()
		t.Name = l.code.PythonName(n.Pthread)
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

// setConstructLine sets the line of the frame that waits in a target region: the call may have that of the function.
func setConstructLine(t *picture.Thread) {
	i := slices.IndexFunc(t.UserStack, func(f picture.Frame) bool { return f.Kind == picture.FrameUser })
	if i < 0 || t.Target == nil || t.Target.Executes || t.Target.Kernel == "" {
		return
	}
	if f := &t.UserStack[i]; f.Line != 0 && f.File == t.Target.File && f.Function == t.Target.Function {
		f.Line, f.Near = t.Target.Line, false
	}
}

// fillOpenMP adds the runtime's data about the thread and returns its state.
func (l *threadLister) fillOpenMP(t *picture.Thread, n *teams.Thread) handles.State {
	t.Runtime, t.Number, t.Hidden = n.Runtime.ID, &n.Info.Number, n.Info.HiddenHelper
	switch {
	case n.InfoErr != nil:
		t.Role = picture.RoleUnknown
	case n.Info.Role != "":
		t.Role = n.Info.Role
	}
	l.fillPlace(t, n)
	if n.LWP == 0 {
		return handles.StateUndefined // the target does not have the thread
	}
	ts, err := l.states.StateOf(n)
	if err != nil {
		n.Errs = append(n.Errs, err)
		return handles.StateUndefined
	}
	t.State = &picture.State{Name: ts.State.Name(), Source: stateSource(ts.Tracked), Evidence: ts.Evidence}
	if ts.Ending {
		t.State.Name, t.State.Standard = picture.StateEnding, t.State.Name
		return ts.State
	}
	t.Loop = l.loops.LoopOf(n)
	wait := cmp.Or(ts.WaitVariable, ts.WaitID) // the program's variable, if it is known
	t.WaitID, t.WaitKind = picture.Address(wait), ts.WaitKind
	l.waits.AddWait(t, n)
	if t.WaitKind.OfTarget() {
		return handles.StateWaitTarget
	}
	if t.Hidden && strings.HasPrefix(string(t.State.Name), "wait_barrier") {
		// Its runtime has helpers wait for target tasks in the barrier at the end of a region of their own.
		t.State = &picture.State{Name: picture.StateIdle, Source: picture.StateInferred,
			Evidence: "it is a hidden helper thread, and executes no task; " + ts.Evidence}
		t.WaitID, t.WaitKind, t.WaitName = nil, "", ""
		return handles.StateIdle
	}
	return ts.State
}

// fillPlace adds region, task, and the thread's number and team at each level.
func (l *threadLister) fillPlace(t *picture.Thread, n *teams.Thread) {
	if len(n.Chain) == 0 {
		return
	}
	if h, err := n.Runtime.CurrentTask(n.Handle); err == nil {
		t.Task = teams.TaskID(h)
	} else if !errors.Is(err, callbacks.Unavailable) && !errors.Is(err, callbacks.Unsupported) {
		n.Errs = append(n.Errs, err)
	}
	// In a league, the initial task of each team starts a new level 0. The regions further out enclose the league.
	outermost := max(0, slices.IndexFunc(n.Chain, func(h handles.Parallel) bool { return h.Level == 0 }))
	for i := outermost; i >= 0; i-- {
		t.Levels = append(t.Levels, l.levelInfo(n, n.Chain[i]))
	}
	inner := t.Levels[len(t.Levels)-1]
	v := l.regions.Get(n.Runtime, n.Chain[0])
	t.Region, t.Level, t.ThreadNum, t.TeamSize = inner.Region, &inner.Level, inner.ThreadNum, inner.TeamSize
	if v.Err == nil {
		t.ActiveLevel = &v.Info.ActiveLevel
	}
}

func (l *threadLister) levelInfo(n *teams.Thread, h handles.Parallel) picture.LevelInfo {
	out := picture.LevelInfo{Level: int(h.Level), Region: teams.RegionID(h)}
	v := l.regions.Get(n.Runtime, h)
	if v.Err != nil {
		n.Errs = append(n.Errs, v.Err)
		return out
	}
	out.TeamSize = &v.Info.TeamSize
	if num, ok := l.regions.ThreadNum(n, h); ok {
		out.ThreadNum = &num
	}
	return out
}

func stateSource(tracked bool) picture.StateSource {
	if tracked {
		return picture.StateTracked
	}
	return picture.StateInferred
}
