package libomp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// counterStep is the increment of a barrier's counters (KMP_BARRIER_STATE_BUMP).
const counterStep = 4

// A barrier of the runtime has two halves. In the gathering half a thread waits for the threads below it in a
// tree, then counts itself (b_arrived). The primary thread is at the root, and counts for the team. In the other
// half each thread waits for its b_go. Between the halves the primary thread waits for the team's tasks.
//
// So a counter that is ahead of the team's proves that its thread has arrived at an incomplete barrier, and
// cannot leave it. A counter that equals the team's is ambiguous: the thread may not have arrived, or may still
// be leaving the previous barrier. The thread's activity decides.

// WaitedBarrier describes the barrier at which the thread waits.
func (wr *waits) WaitedBarrier(h handles.Thread, of func(handles.Thread) *handles.Evidence) (rtl.BarrierInfo, error) {
	o, in, err := wr.lookAt(h, of(h))
	if err != nil {
		return rtl.BarrierInfo{}, err
	}
	t := o.gs[0].team
	kind, ok := wr.barriers.barrierOf(t, in)
	if !ok {
		return rtl.BarrierInfo{}, fmt.Errorf("%v waits at no barrier that is known: %w", h, callbacks.Unavailable)
	}
	all, err := wr.barriers.readDistributed(t)
	if err != nil {
		return rtl.BarrierInfo{}, err
	}
	if all != nil {
		info, err := wr.distBarrier(o, kind, all)
		info.Counter = callbacks.Addr(in.WaitID)
		return info, err
	}
	info := rtl.BarrierInfo{Counter: callbacks.Addr(in.WaitID), TeamSize: t.nproc}
	var missing []handles.Thread
	self := arrival{}
	for n := range t.nproc {
		m, err := wr.threads.member(t, n)
		if err != nil {
			return info, err
		}
		a, err := wr.barriers.readArrival(m, t, kind)
		if err != nil {
			return info, err
		}
		if m == o.th {
			self = a
		}
		mh := handles.Thread{Stamp: wr.stamp, Info: m.addr}
		switch {
		case n > 0 && a.thread == a.team+counterStep:
			info.Arrived = append(info.Arrived, mh)
		case n == 0 || a.thread == a.team:
			missing = append(missing, mh)
		default: // this kind of barrier counts differently
			return info, fmt.Errorf("%v: its counters are %d and %d: %w", mh, a.thread, a.team, callbacks.Unavailable)
		}
	}
	return wr.judgeBarrier(o, kind, self, info, missing), nil
}

// judgeBarrier determines the uncounted members for which o's thread waits: all of them, if it is proven to be
// in an incomplete barrier.
func (wr *waits) judgeBarrier(o *observer, kind barrierKind, self arrival, info rtl.BarrierInfo,
	missing []handles.Thread) rtl.BarrierInfo {
	info.Evidence = fmt.Sprintf("%d of %d counted in b_arrived of %v", len(info.Arrived), info.TeamSize, kind)
	own := handles.Thread{Stamp: wr.stamp, Info: o.th.addr}
	gathers := false
	if self.thread == self.team || o.th.tid == 0 {
		gathers = wr.isGathering(o, kind, self.team)
	}
	switch {
	case gathers:
		info.Evidence += fmt.Sprintf("; gtid %d waits for one that is not", o.th.gtid)
	case len(info.Arrived) > 0 && o.th.tid > 0 && self.thread > self.team:
	case len(info.Arrived) == 0 && wr.tasksUnfinished(o, kind):
		info.Tasks = true
		info.Evidence = "all members counted, tt_unfinished_threads is not 0"
		wr.addUnreleased(o, kind, &info)
		return info
	default:
		return info
	}
	for _, m := range missing {
		if m == own {
			info.Arrived = append(info.Arrived, m)
		} else {
			info.Missing = append(info.Missing, m)
		}
	}
	return info
}

// barrierOf returns the barrier of team t at which a thread waits, by its state.
func (bs *barriers) barrierOf(t *team, in inference) (barrierKind, bool) {
	first := t.addr.Offset + bs.l.Team.Bar.Offset + bs.l.TeamBar.Arrived.Offset
	size := bs.l.TeamBar.Size.Size
	if in.WaitKind != picture.WaitBarrier || in.WaitID < first || size == 0 || (in.WaitID-first)%size != 0 {
		return 0, false
	}
	b := barrierKind((in.WaitID - first) / size)
	return b, b < barrierKinds
}

// isGathering reports whether o's thread waits, in the gathering half of a barrier, for a member that is not
// counted yet: it waits on a flag for that member's counter, the flag holds the next value, and the value before
// it is the team's.
func (wr *waits) isGathering(o *observer, kind barrierKind, team uint64) bool {
	f := wr.l.Thread.SleepLoc
	r := layout.Read(wr.mem, o.th.addr, f)
	var ws []uint64
	if loc := r.Address(f); r.Err() == nil && !loc.IsNull() {
		ws = wr.readWords(loc, loc.Add(flagSize))
	} else {
		low, high := runtimeStack(o.ev)
		ws = wr.readWords(low, high)
	}
	for i, w := range ws {
		base, ok := wr.threads.threadOf(w)
		if !ok || base == o.th.addr.Offset || w != base+wr.l.Thread.Bar.Offset+uint64(kind)*wr.l.Bar.Size.Size+
			wr.l.Bar.Arrived.Offset {
			continue
		}
		th := wr.threads.memberAt(o.gs[0].team, callbacks.Addr(base))
		if th == nil {
			continue
		}
		a, err := wr.barriers.readArrival(th, o.gs[0].team, kind)
		if err != nil || a.thread != team {
			continue
		}
		for _, v := range ws[i+1 : min(len(ws), i+flagSize/8)] {
			if v == team+counterStep {
				return true
			}
		}
	}
	return false
}

// tasksUnfinished reports whether the team's tasks keep o's thread in a barrier at which all threads have
// arrived: threads still execute or search for tasks, and the thread is not released.
func (wr *waits) tasksUnfinished(o *observer, kind barrierKind) bool {
	f, tf := &wr.l.Thread, &wr.l.TaskTeam
	r := layout.Read(wr.mem, o.th.addr, f.TaskTeam, f.Bar)
	tt := r.Address(f.TaskTeam)
	if r.Err() != nil || tt.IsNull() {
		return false
	}
	if released := r.RecordAt(f.Bar.Offset + uint64(kind)*wr.l.Bar.Size.Size).Uint(wr.l.Bar.Go); o.th.tid > 0 &&
		released&^3 != 0 {
		return false
	}
	tr := layout.Read(wr.mem, tt, tf.UnfinishedThreads, tf.Active)
	return tr.Int(tf.UnfinishedThreads) > 0 && tr.Bool(tf.Active) && tr.Err() == nil && r.Err() == nil
}

// addUnreleased adds the evidence that the primary thread, which is o's, waits for a count that cannot reach 0. At a
// barrier, each member counts itself off tt_unfinished_threads of its own task team (th_task_team) when no tasks are
// left, and the primary thread waits until that of its own is 0. A member with another task team, which has counted
// itself in b_arrived and has not been released, does neither. The count starts with all members.
func (wr *waits) addUnreleased(o *observer, kind barrierKind, info *rtl.BarrierInfo) {
	tt, t := o.th.taskTeam, o.gs[0].team
	f := wr.l.TaskTeam.UnfinishedThreads
	low, high := runtimeStack(o.ev)
	if o.th.tid != 0 || tt.IsNull() || !slices.Contains(wr.readWords(low, high), tt.Add(f.Offset).Offset) {
		return // it does not wait for the count
	}
	var others []int // gtids
	for n := 1; n < t.nproc; n++ {
		m, err := wr.threads.member(t, n)
		if err != nil {
			return
		}
		r := layout.Read(wr.mem, m.addr, wr.l.Thread.Bar)
		released := r.RecordAt(wr.l.Thread.Bar.Offset + uint64(kind)*wr.l.Bar.Size.Size).Uint(wr.l.Bar.Go)
		if r.Err() != nil || released&arrivedMask != 0 {
			return
		}
		if m.taskTeam != tt {
			others = append(others, m.gtid)
		}
	}
	unfinished := layout.Read(wr.mem, tt, f).Int(f)
	if len(others) == 0 || int64(len(others)) > unfinished || unfinished > int64(t.nproc) {
		return
	}
	info.Unreleased = fmt.Sprintf("the primary thread waits until tt_unfinished_threads of its task team at %v is 0, "+
		"and it is %d: %d of the members that wait to be released (the first has gtid %d) have another task team, "+
		"and never count themselves off this one", tt, unfinished, len(others), others[0])
	if wr.precedes(taskStatesFixed) {
		info.Defect = fmt.Sprintf("LLVM's runtime before %d mixes up the task teams of threads after a detached task "+
			"outside of parallel regions (LLVM issue 56307)", taskStatesFixed)
	}
}

// taskStatesFixed is the first release of LLVM in which a serial team's tasks leave the task states of threads alone.
const taskStatesFixed = 19

// precedes reports whether the runtime is known to be of a release of LLVM before major.
func (wr *waits) precedes(major int) bool {
	_, last, both := strings.Cut(wr.id.Version, "-")
	if !both {
		last = wr.id.Version
	}
	n, err := strconv.Atoi(last)
	return err == nil && n < major
}

// WaitedGroup returns the unfinished tasks of the taskgroup whose end the thread waits for. all is true if
// their number equals the group's count.
func (wr *waits) WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error) {
	gs, err := wr.regions.ofHandle(h)
	if err != nil {
		return nil, false, err
	}
	th, err := wr.threads.byHandle(h)
	if err != nil {
		return nil, false, err
	}
	cur, err := wr.records.task(th.task)
	if err != nil {
		return nil, false, err
	}
	group := cur.address(wr.l.Taskdata.Taskgroup)
	if group.IsNull() || wr.l.Taskdata.TaskwaitThread.IsKnown() && wr.records.waitingThread(cur) != th.gtid {
		return nil, false, fmt.Errorf("%v waits at the end of no taskgroup: %w", h, callbacks.Unavailable)
	}
	f := wr.l.Taskgroup.Count
	count := layout.Read(wr.mem, group, f).Int(f)
	for t, err := range wr.tasks.ExplicitTasks(wr.parallelHandle(gs[0])) {
		if err != nil {
			return tasks, false, err
		}
		td, err := wr.records.task(t.Data)
		if err == nil && td.addr != cur.addr && td.address(wr.l.Taskdata.Taskgroup) == group {
			tasks = append(tasks, t)
		}
	}
	return tasks, int64(len(tasks)) == count, nil
}
