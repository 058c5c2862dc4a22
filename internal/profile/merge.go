package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Rank is the profile of a rank of a job.
type Rank struct {
	Rank    int
	Host    string
	Profile *picture.Profile
}

// Merge returns the profile of a job: times and stacks are sums over its ranks. The rate of the samples and their cost
// are those of a mean rank; the number of samples is the smallest of a rank, because ranks often do the same at the
// same time. The list is not empty.
func Merge(list []Rank, warnings ...string) *picture.Profile {
	list = slices.SortedFunc(slices.Values(list), func(a, b Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	s := &Series{}
	s.start()
	p := &s.profile
	first := list[0].Profile
	p.Target, p.Runtimes, p.Samples = first.Target, first.Runtimes, first.Samples
	p.Target.PID, p.Target.Pause, p.Target.Rank = 0, nil, nil
	end := picture.ProfileTimeOver
	for _, w := range warnings {
		s.warn(w)
	}
	for _, r := range list {
		if s.addRank(r); r.Profile.End != picture.ProfileTimeOver && end == picture.ProfileTimeOver {
			end = r.Profile.End
		}
	}
	n := float64(len(list))
	p.Seconds, p.Stopped = p.Seconds/n, p.Stopped/n
	return s.Profile(end, nil)
}

// addRank adds the profile of a rank.
func (s *Series) addRank(r Rank) {
	p, q := &s.profile, r.Profile
	p.Samples = min(p.Samples, q.Samples)
	p.Seconds, p.Stopped = p.Seconds+q.Seconds, p.Stopped+q.Stopped
	p.Longest, p.Own, p.CPU = max(p.Longest, q.Longest), p.Own+q.Own, p.CPU+q.CPU
	p.Threads, p.ThreadSeconds = p.Threads+q.Threads, p.ThreadSeconds+q.ThreadSeconds
	p.Work, p.Wait, p.Unknown = p.Work+q.Work, p.Wait+q.Wait, p.Unknown+q.Unknown
	if o := q.Outside; o != nil {
		if p.Outside == nil {
			p.Outside = &picture.ProfileTime{}
		}
		p.Outside.Work, p.Outside.Wait = p.Outside.Work+o.Work, p.Outside.Wait+o.Wait
		p.Outside.Unknown += o.Unknown
	}
	row := picture.ProfileRank{
		Rank: r.Rank, Host: r.Host, PID: q.Target.PID, Samples: q.Samples, Seconds: q.Seconds,
		ThreadSeconds: q.ThreadSeconds, Work: q.Work, Wait: q.Wait, Unknown: q.Unknown,
	}
	for _, w := range q.Waits {
		if picture.WaitKind(w.Kind) == picture.WaitMPI {
			row.MPI += w.Seconds
		}
		s.addWait(waitKey{w.Kind, w.Name}, w.Seconds)
	}
	p.Ranks = append(p.Ranks, row)
	s.moved = s.moved || !slices.ContainsFunc(q.Findings, func(f picture.ProfileFinding) bool {
		return f.Kind == picture.FindingNoProgress
	})
	for _, w := range q.Warnings {
		s.warn(w)
	}
	for i := range q.Places {
		s.mergePlace(&q.Places[i])
	}
	for i := range q.Stacks {
		s.mergeStack(&q.Stacks[i])
	}
	for i := range q.Barriers {
		s.mergeBarrier(&q.Barriers[i])
	}
	for _, a := range q.Alone {
		key := fmt.Sprint(a.Serial, frameKey(a.Frame))
		if have := s.alone[key]; have != nil {
			have.Seconds += a.Seconds
		} else if !s.isFull(len(s.alone), maxItems) {
			s.alone[key] = &a
		}
	}
}

// mergePlace adds the time at a place.
func (s *Series) mergePlace(one *picture.ProfilePlace) {
	key := codeKey(one.Region) + "\n" + frameKey(one.Frame)
	at := s.places[key]
	if at == nil {
		if s.isFull(len(s.places), maxItems) {
			return
		}
		at = &place{picture.ProfilePlace{Region: one.Region, Frame: one.Frame}, map[waitKey]float64{}}
		s.places[key] = at
	}
	at.Work, at.Wait, at.Unknown = at.Work+one.Work, at.Wait+one.Wait, at.Unknown+one.Unknown
	for _, w := range one.Waits {
		at.waits[waitKey{w.Kind, w.Name}] += w.Seconds
	}
}

// mergeStack adds the time of a stack.
func (s *Series) mergeStack(one *picture.ProfileStack) {
	var key strings.Builder
	fmt.Fprintln(&key, one.Class, one.Kind, one.Name, one.Outside)
	for i := range one.Frames {
		fmt.Fprintln(&key, frameKey(&one.Frames[i]))
	}
	st := s.stacks[key.String()]
	if st == nil {
		if s.isFull(len(s.stacks), maxStacks) {
			return
		}
		empty := *one
		empty.Seconds, empty.Samples = 0, 0
		st = &empty
		s.stacks[key.String()] = st
	}
	st.Seconds, st.Samples = st.Seconds+one.Seconds, st.Samples+one.Samples
}

// mergeBarrier adds the time at a barrier, with its late threads by their numbers.
func (s *Series) mergeBarrier(one *picture.ProfileBarrier) {
	key := codeKey(one.Region) + "\n" + string(one.State) + "\n" + frameKey(one.Frame)
	b := s.barriers[key]
	if b == nil {
		if s.isFull(len(s.barriers), maxItems) {
			return
		}
		b = &barrier{picture.ProfileBarrier{Region: one.Region, State: one.State, Frame: one.Frame}, map[int]*late{}}
		s.barriers[key] = b
	}
	b.Seconds, b.Span = b.Seconds+one.Seconds, b.Span+one.Span
	for _, l := range one.Late {
		have := b.late[l.ThreadNum]
		if have == nil {
			have = &late{at: map[string]*spot{}}
			b.late[l.ThreadNum] = have
		}
		have.seconds, have.work = have.seconds+l.Seconds, have.work+l.Work
		if at := have.at[frameKey(l.Frame)]; at != nil {
			at.seconds += l.Seconds * l.Share
		} else {
			have.at[frameKey(l.Frame)] = &spot{l.Frame, l.Seconds * l.Share}
		}
	}
}

// certainRank is the distance of the rank with the most Work from the mean, in standard errors of its share of Work,
// from which on it is not the largest by chance: one of a thousand equal ranks is that far from it in 3 % of profiles.
const certainRank = 4

// findRanks finds a rank that works for longer than the others, which wait for it in MPI.
func (c *conclusions) findRanks() {
	p := c.p
	if len(p.Ranks) < 2 {
		return
	}
	work := func(r picture.ProfileRank) float64 { // share of the rank's own thread time
		if r.ThreadSeconds <= 0 {
			return 0
		}
		return r.Work / r.ThreadSeconds
	}
	most := slices.MaxFunc(p.Ranks, func(a, b picture.ProfileRank) int { return cmp.Compare(work(a), work(b)) })
	top, cost, mpi, others := work(most), 0., 0., 0.
	for _, r := range p.Ranks {
		cost += (top - work(r)) * r.ThreadSeconds
		if mpi += r.MPI; r.Rank != most.Rank {
			others += work(r) / float64(len(p.Ranks)-1)
		}
	}
	if spread := math.Sqrt(max(others*(1-others), 0) / float64(max(p.Samples, 1))); top-others < certainRank*spread {
		return
	}
	f := c.add(picture.FindingRanks, min(cost, mpi))
	if f == nil {
		return
	}
	f.Text = fmt.Sprintf("rank %d works for %s of its thread time, the other %s for %s on average; the ranks wait in "+
		"MPI for %s of the thread time", most.Rank, percent(top), phrase.Count(len(p.Ranks)-1, "rank"),
		percent(others), percent(mpi/p.ThreadSeconds))
	f.Fix = "give that rank less work: divide the work by its cost, not by its size"
}

// start makes the empty lists of a series.
func (s *Series) start() {
	s.stacks, s.waits = map[string]*picture.ProfileStack{}, map[waitKey]*picture.ProfileWait{}
	s.places, s.barriers = map[string]*place{}, map[string]*barrier{}
	s.alone, s.warned = map[string]*picture.ProfileAlone{}, map[string]bool{}
	s.firstAt = map[int]string{}
}

// addWait adds the time of an awaited thing. It returns false if the list is full.
func (s *Series) addWait(key waitKey, seconds float64) bool {
	w := s.waits[key]
	if w == nil {
		if s.isFull(len(s.waits), maxItems) {
			return false
		}
		w = &picture.ProfileWait{Kind: key.kind, Name: key.name}
		s.waits[key] = w
	}
	w.Seconds += seconds
	return true
}
