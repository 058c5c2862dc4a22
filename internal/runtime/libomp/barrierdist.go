package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// distRounds is the number of sets of flags that the barrier with the pattern "dist" uses in turn
// (distributedBarrier::MAX_ITERS).
const distRounds = 3

// distProgress is the progress of a team member at a barrier with the pattern "dist", which has no counters. A
// thread that arrives clears its flag of the current round. A thread that waits for a group of others clears its
// flag when these have arrived. A thread enters the next round when it leaves the barrier.
type distProgress struct {
	round   uint64
	arrived bool
}

// readDistributed returns the progress of the members of t, by number; nil if the team's barriers have another
// pattern.
func (bs *barriers) readDistributed(t *team) ([]distProgress, error) {
	f, df := bs.l.Team.Dist, &bs.l.Dist
	if !f.IsKnown() || !df.Iter.IsKnown() || !df.Flags.IsKnown() || !df.NumThreads.IsKnown() {
		return nil, nil
	}
	r := layout.Read(bs.mem, t.addr, f)
	at := r.Address(f)
	if r.Err() != nil || at.IsNull() {
		return nil, r.Err()
	}
	first := df.Flags
	first.Size = 8
	b := layout.Read(bs.mem, at, df.Flags, df.Iter, df.NumThreads)
	n, rounds := b.Uint(df.NumThreads), b.Address(df.Iter)
	var flags [distRounds]callbacks.Address
	for i := range flags {
		flags[i] = b.Address(first)
		first.Offset += first.Size
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	if n != uint64(t.nproc) {
		return nil, fmt.Errorf("num_threads of the team's barrier is %d, t_nproc %d: %w", n, t.nproc,
			callbacks.Incomplete)
	}
	list := make([]distProgress, t.nproc)
	for i := range list {
		m, err := bs.readProgress(uint64(i), rounds, flags)
		if err != nil {
			return nil, err
		}
		list[i] = m
	}
	return list, nil
}

// readProgress reads the progress of member n from the arrays of rounds and flags.
func (bs *barriers) readProgress(
	n uint64, rounds callbacks.Address, flags [distRounds]callbacks.Address,
) (distProgress, error) {
	df, ff := &bs.l.DistIter, &bs.l.DistFlags
	r := layout.Read(bs.mem, rounds.Add(n*df.Size.Size), df.Iter)
	round := r.Uint(df.Iter)
	if err := r.Err(); err != nil {
		return distProgress{}, err
	}
	if round >= distRounds {
		return distProgress{}, fmt.Errorf("iter of member %d is %d: %w", n, round, callbacks.Incomplete)
	}
	r = layout.Read(bs.mem, flags[round].Add(n*ff.Size.Size), ff.StillNeed)
	need := r.Bool(ff.StillNeed)
	return distProgress{round: round, arrived: !need}, r.Err()
}

// distBarrier returns the members that have not reached the barrier at which o's thread waits, given the
// progress of all members. If a member is a round ahead, it has left the barrier, so no thread waits there any
// more.
func (wr *waits) distBarrier(o *observer, kind barrierKind, all []distProgress) (rtl.BarrierInfo, error) {
	t := o.gs[0].team
	info := rtl.BarrierInfo{TeamSize: t.nproc}
	if o.th.tid < 0 || o.th.tid >= len(all) {
		return info, fmt.Errorf("thread number %d of %d: %w", o.th.tid, len(all), callbacks.Incomplete)
	}
	own := all[o.th.tid]
	var missing []handles.Thread
	for n, m := range all {
		th, err := wr.threads.member(t, n)
		switch {
		case err != nil:
			return info, err
		case m.round != own.round:
			return info, fmt.Errorf("member %d is in round %d of the barrier, member %d in %d: %w",
				n, m.round, o.th.tid, own.round, callbacks.Unavailable)
		}
		h := handles.Thread{Stamp: wr.stamp, Info: th.addr}
		if m.arrived {
			info.Arrived = append(info.Arrived, h)
		} else {
			missing = append(missing, h)
		}
	}
	info.Evidence = fmt.Sprintf("%d of %d have cleared stillNeed of round %d of distributedBarrier",
		len(info.Arrived), info.TeamSize, own.round)
	switch {
	case len(missing) == 0 && wr.tasksUnfinished(o, kind):
		info.Tasks = true
		info.Evidence = "all members have cleared stillNeed, tt_unfinished_threads is not 0"
	case own.arrived:
		info.Missing = missing
	}
	return info, nil
}
