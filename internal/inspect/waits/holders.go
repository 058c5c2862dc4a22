package waits

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxHolders bounds the listed holders of one lock: more than one are guesses.
const maxHolders = 64

// certainties are the words for the certainty that a thread holds a lock.
var certainties = [...]picture.Certainty{lockflow.Certain: picture.Certain, lockflow.Likely: picture.Likely,
	lockflow.Possible: picture.Possible}

// lockHolders finds the holders of locks that name no owner.
type lockHolders struct {
	roster *teams.ThreadTable
	code   *stacks.Code
	flows  *stacks.Flow
	look   *lockflow.Look
	known  map[lockflow.Lock][]picture.Holder
}

// newLockHolders returns a finder of holders.
func newLockHolders(r *teams.ThreadTable, code *stacks.Code, fl *stacks.Flow) *lockHolders {
	lh := &lockHolders{roster: r, code: code, flows: fl, known: map[lockflow.Lock][]picture.Holder{}}
	lh.look = lockflow.NewLook(fl.Program, lh.holding)
	return lh
}

// holding lists the threads that may hold locks, in the order of the picture.
func (lh *lockHolders) holding() []*lockflow.Thread {
	var out []*lockflow.Thread
	for _, n := range lh.roster.Sorted() {
		if n.LWP != 0 && n.Info.Role != picture.RoleIdle {
			out = append(out, lh.flows.Thread(&n.Thread))
		}
	}
	return out
}

// find returns the holders of the lock that w waits for, the most certain first. All waiters of a lock share the
// list.
func (lh *lockHolders) find(w wait, l picture.Lock) []picture.Holder {
	family, ok := lockFamily(w, l)
	lock := lockflow.Lock{Family: family, Address: w.variable}
	switch {
	case !ok:
		return nil
	case w.isIdentified():
	case w.n != nil && lh.flows.HasRemoved(&w.n.Thread):
		lock.Address = lockflow.AnyAddress // a tail call kept the address nowhere
	default:
		return nil
	}
	out, known := lh.known[lock]
	if known {
		return out
	}
	for _, h := range lh.look.Holders(lock) {
		if len(out) < maxHolders {
			out = append(out, lh.describeHolder(h))
		}
	}
	if lockflow.OfOpenMP(family) {
		out = lh.addHidden(out)
	}
	lh.known[lock] = slices.Clip(out)
	return out
}

// addHidden adds the threads with unknown functions without frames to the holders of a lock.
func (lh *lockHolders) addHidden(out []picture.Holder) []picture.Holder {
	for _, n := range lh.roster.Sorted() {
		known := func(h picture.Holder) bool { return h.Thread == n.LWP }
		if n.LWP == 0 || len(out) >= maxHolders || !lh.flows.IsHidden(&n.Thread) || slices.ContainsFunc(out, known) {
			continue
		}
		out = append(out, picture.Holder{Thread: n.LWP, Certainty: picture.Possible,
			Evidence: "its unknown function, which ended in a tail call, may have acquired it"})
	}
	return out
}

// isIdentified reports whether code that takes the lock of w differs from code that takes other locks of its kind:
// by the program's variable, or because there is only one such lock.
func (w wait) isIdentified() bool { return w.variable != 0 || w.isOnlyOne() }

// isOnlyOne reports whether there is only one lock of the kind that w waits for: the unnamed critical section, or
// that of atomic constructs.
func (w wait) isOnlyOne() bool {
	c, ok := rtl.LockCallOf(w.Call)
	return ok && c.Arg < 0
}

// lockFamily returns the family of calls that acquire and release the lock that w waits for.
func lockFamily(w wait, l picture.Lock) (string, bool) {
	if w.interpreter || w.allocator {
		return "", false
	}
	switch {
	case w.Kind == picture.WaitFlag:
		c, ok := rtl.LockCallOf(w.Call)
		return c.Family, ok && c.Try
	case w.reduction:
		return rtl.FamilyReduction, true
	case w.Kind == picture.WaitCritical:
		return rtl.FamilyCritical, true
	case w.Kind == picture.WaitMutex && w.Call == spinLockCall:
		return rtl.FamilySpin, true
	case w.Kind == picture.WaitMutex:
		return rtl.FamilyMutex, true
	case w.Kind == picture.WaitReadWrite:
		return rtl.FamilyReadWrite, true
	case w.Kind == picture.WaitStatic:
		return rtl.FamilyStatic, true
	case w.Kind == picture.WaitAtomic:
		return rtl.FamilyAtomic, true
	case w.Kind != picture.WaitLock && w.Kind != picture.WaitNestLock:
		return "", false
	case l.Nested:
		return rtl.FamilyNest, true
	}
	return rtl.FamilyLock, true
}

// describeHolder describes a holder, with the evidence.
func (lh *lockHolders) describeHolder(h lockflow.Holder) picture.Holder {
	f, own := lh.flows.FrameOf(&lh.roster.ByLWP[h.Thread.ID].Thread, h.Frame)
	out := picture.Holder{Thread: h.Thread.ID, Certainty: certainties[h.Certainty], Released: h.Released,
		Presumed: h.Presumed, ReleasedOnReturn: h.ReleasedOnReturn}
	out.SuspendedAt, out.SuspendedIn = lh.suspensionOf(h, own)
	taken := lh.acquisitionFrames(h.Taken, f.Module)
	call := "its call"
	if len(h.Taken) > 0 {
		call = lh.siteName(h.Taken[0])
	}
	now := lh.code.FramesWithConstruct(f, stacks.KindUser)
	if taken != nil && !teams.CallsBody(taken[0], call) {
		out.AcquiredAt = acquisitionFrame(taken, now)
	}
	out.Evidence = holderEvidence(out, call, taken, now)
	return out
}

// acquisitionFrame returns the frame that shows where a lock was acquired: the innermost of the program. If the thread
// is now in another call from the same line of an inlined function, it is the innermost frame that differs.
func acquisitionFrame(taken, now []picture.Frame) *picture.Frame {
	at := &taken[stacks.ProgramFrame(taken)]
	is := now[stacks.ProgramFrame(now)]
	if at.Line == 0 || at.Line != is.Line || at.File != is.File || at.Function != is.Function {
		return at
	}
	if from, to := commonFunction(taken, now); from.Line != 0 && from.Line != to.Line && from.File == to.File {
		return &from
	}
	return at
}

// suspensionOf returns the place and the construct at which a holder left the task that acquired the lock: it was given
// another task to execute, or forked a region and executes an implicit task there. It returns nil if it still executes
// the task that acquired the lock. frame is the number of the frame that acquired it.
func (lh *lockHolders) suspensionOf(h lockflow.Holder, frame int) (at *picture.Frame, construct string) {
	st := lh.roster.ByLWP[h.Thread.ID].Stack()
	for i := min(frame, len(st.Kinds)-1); i > 1; i-- {
		if st.Kinds[i] != stacks.KindUser || st.Kinds[i-1] != stacks.KindRuntime ||
			!slices.Contains(st.Kinds[:i-1], stacks.KindUser) {
			continue
		}
		name, _ := st.CalledFunction(i)
		if !rtl.OfConstruct(name) && lh.code.Symbols != nil { // the called function has tail-called the runtime
			name, _, _ = lh.code.Symbols.Exported(st.Frames[i-1].LookupPC())
		}
		if construct = rtl.SchedulingPoint(name); rtl.ForksTeam(name) {
			construct = picture.SuspendedInParallel
		}
		if construct != "" {
			return lh.code.InnermostFrame(st.Frames[i], stacks.KindUser), construct
		}
	}
	return nil, ""
}

// acquisitionFrames returns the place in the source of the calls that acquired a lock; nil if their places differ.
// One call in the source may be several in the code.
func (lh *lockHolders) acquisitionFrames(by []flow.CallSite, mod *callbacks.Module) (at []picture.Frame) {
	for _, s := range by {
		if s.Return == 0 {
			return nil
		}
		fs := lh.code.FramesWithConstruct(unwind.Frame{PC: s.Return, Module: mod}, stacks.KindUser)
		if at != nil && (fs[0].Line == 0 || fs[0].Line != at[0].Line || fs[0].File != at[0].File ||
			fs[0].Function != at[0].Function) {
			return nil
		}
		if at == nil {
			at = fs
		}
	}
	return at
}

// siteName returns the name, for users, of the function that a call leads to.
func (lh *lockHolders) siteName(s flow.CallSite) string {
	if entry := lh.flows.Program.Entry(s); entry != 0 && lh.code.Symbols != nil {
		if f, err := lh.code.Symbols.Function(entry); err == nil && f.Low == entry && f.Function != "" {
			return f.Function
		}
	}
	return cmp.Or(s.Name, "a call")
}

// holderEvidence describes the places at which a thread acquired a lock, and at which it is now. Both are lists of
// inlined functions, the innermost first.
func holderEvidence(h picture.Holder, call string, taken, now []picture.Frame) string {
	from, to := commonFunction(taken, now)
	where := to.Called()
	switch {
	case h.Released:
		return fmt.Sprintf("%s in %s acquired a lock that was released since, unless its address has changed in memory",
			call, where)
	case h.Presumed:
		if from.Line != 0 {
			where += " at " + from.Place()
		}
		return fmt.Sprintf("acquired it with %s in %s, unless a variable that its branches read has changed since",
			call, where)
	case h.Certainty == picture.Possible:
		return fmt.Sprintf("%s in %s may have acquired it, on some paths through the code", call, where)
	case from.Line == 0 || to.Line == 0:
		return fmt.Sprintf("acquired it with %s in %s, not released on any path from there to %s", call, where,
			to.Spot())
	}
	until := fmt.Sprintf("line %d", to.Line)
	if to.File != from.File || to.Near {
		until = to.Place()
	}
	return fmt.Sprintf("acquired it with %s in %s at %s, not released on any path from there to %s", call, where,
		from.Place(), until)
}

// commonFunction returns the innermost function that contains both places, as its frame of either place. Both
// places are in the code of one function; the lists have the innermost frame first.
func commonFunction(a, b []picture.Frame) (inA, inB picture.Frame) {
	n := commonFrames(a, b)
	if n == 0 {
		return picture.Frame{}, b[len(b)-1]
	}
	return a[len(a)-n], b[len(b)-n]
}

// commonFrames returns the number of functions that contain two places, both with the innermost frame first: the
// outermost one, and those inlined there by the same calls.
func commonFrames(a, b []picture.Frame) int {
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if x.Function != y.Function {
			return i - 1
		}
		if x.File != y.File || x.Line != y.Line { // the inlined calls differ
			return i
		}
	}
	return min(len(a), len(b))
}

// findLeaks returns the places at which code that acquires the lock of w continues without releasing it.
func (lh *lockHolders) findLeaks(w wait, family string, waiting map[int]bool) []picture.Leak {
	var waiters []*lockflow.Thread
	for _, n := range lh.roster.Sorted() {
		if waiting[n.LWP] {
			waiters = append(waiters, lh.flows.Thread(&n.Thread))
		}
	}
	var out []picture.Leak
	seen := map[picture.Frame]int{} // index in out, plus 1
	for _, d := range lh.look.Departures(lockflow.Lock{Family: family, Address: w.variable}, waiters) {
		l := picture.Leak{Frame: lh.departureFrame(d), ExitCall: symbolize.Demangle(d.Throws),
			FailedCheck: rtl.Checks(d.Throws), UnknownCallee: d.Unknown}
		key := picture.Frame{File: l.Frame.File, Line: l.Frame.Line}
		switch i := seen[key]; {
		case l.Frame.Line == 0:
		case i == 0:
			out = append(out, l)
			seen[key] = len(out)
		default:
			out[i-1] = joinLeaks(out[i-1], l)
		}
	}
	return out
}

// joinLeaks returns one leak for two at the same line. The leak a is at least as likely as b.
func joinLeaks(a, b picture.Leak) picture.Leak {
	switch {
	case !a.UnknownCallee:
		return a
	case !b.UnknownCallee && !b.FailedCheck: // the code shows it
		return b
	case a.ExitCall == "":
		a.ExitCall, a.FailedCheck = b.ExitCall, b.FailedCheck
	}
	return a
}

// departureFrame returns the place at which code continues without releasing a lock: the line to which its branch
// leads, if no other code leads there, else the line of the branch.
func (lh *lockHolders) departureFrame(d lockflow.Departure) picture.Frame {
	at := func(pc uint64, exact bool) picture.Frame {
		fs := lh.code.FramesAt(pc, exact)
		return fs[stacks.ProgramFrame(fs)]
	}
	if d.Call != 0 {
		return at(d.Call, false)
	}
	branch := at(d.Branch, true)
	if d.Target == 0 {
		return branch
	}
	target := at(d.Target, true)
	if cmp.Or(target.File, branch.File) != branch.File || target.Function != branch.Function ||
		target.Line <= branch.Line {
		return branch // the target's line belongs to the code after it
	}
	return target
}

// maxOwnersAt bounds the locks for which the code of the owner is searched: those with the most waiters. A report
// names three.
const maxOwnersAt = 16

// addOwnerFrames finds the places at which owners acquired their locks. No verdict depends on it.
func (g *gatherer) addOwnerFrames() {
	first, waiters := map[picture.ID]*wait{}, map[picture.ID]int{}
	for i := range g.waits {
		id := g.facts.Waits[i].Lock
		if waiters[id]++; first[id] == nil {
			first[id] = &g.waits[i]
		}
	}
	var owned []*picture.Lock
	for i := range g.facts.Locks {
		if l := &g.facts.Locks[i]; l.Owner != 0 && l.InvalidReason == "" {
			owned = append(owned, l)
		}
	}
	slices.SortStableFunc(owned, func(a, b *picture.Lock) int { return cmp.Compare(waiters[b.ID], waiters[a.ID]) })
	for _, l := range owned[:min(len(owned), maxOwnersAt)] {
		if w := first[l.ID]; w != nil {
			l.OwnerAt = g.from.ownerFrame(w, l)
		}
	}
}

// ownerFrame returns the place at which the owner of a lock acquired it, nil if its code does not show it.
func (wf *Finder) ownerFrame(w *wait, l *picture.Lock) *picture.Frame {
	for _, h := range wf.holders.find(*w, *l) {
		if h.Thread == l.Owner && h.Certainty != picture.Possible {
			return h.AcquiredAt
		}
	}
	return nil
}
