package waitgraph_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// waiters are waits of threads for a lock.
func waiters(kind picture.WaitKind, name string, lock picture.ID, lwps ...int) (out []picture.Wait) {
	for _, lwp := range lwps {
		out = append(out, picture.Wait{Thread: lwp, Kind: kind, Name: name, Lock: lock})
	}
	return out
}

// TestContention checks that the locks with the most waiters are first, each with its holder or the reason why
// it is unknown.
func TestContention(t *testing.T) {
	at := &picture.Frame{File: "a.c", Line: 12}
	holds := func(c picture.Certainty, lwps ...int) (out []picture.Holder) {
		for _, lwp := range lwps {
			out = append(out, picture.Holder{Thread: lwp, Certainty: c, AcquiredAt: at})
		}
		return out
	}
	for name, c := range map[string]struct {
		lock    picture.Lock
		holders []int
		unknown string
	}{
		"by its owner": {picture.Lock{Held: true, Owner: 9, OwnerAt: at}, []int{9}, ""},
		"by its code":  {picture.Lock{Held: true, Holders: holds(picture.Likely, 9)}, []int{9}, ""},
		"readers":      {picture.Lock{Held: true, Holders: holds(picture.Certain, 8, 9)}, []int{8, 9}, ""},
		"on some paths": {picture.Lock{Held: true, Holders: holds(picture.Possible, 1, 2, 9)}, nil,
			"no thread's code shows that it holds it"},
		"ended":    {picture.Lock{Held: true, OwnerEnded: true}, nil, "the thread that acquired it has ended"},
		"freed":    {picture.Lock{InvalidReason: "its memory was freed"}, nil, "its memory was freed"},
		"free":     {picture.Lock{}, nil, "it is being handed over"},
		"nobody's": {picture.Lock{Held: true}, nil, "no thread's code shows that it holds it"},
		"of another process": {picture.Lock{Held: true, Shared: true, Implementation: "mutex"}, nil,
			"another process may hold it, which shares it"},
		"mutex, free": {picture.Lock{Held: true, Implementation: "mutex"}, nil, "the mutex names no owner"},
	} {
		c.lock.ID = "lock-1"
		got := waitgraph.Contention(&picture.Picture{Facts: &picture.Facts{StacksComplete: true,
			Waits: waiters(picture.WaitLock, "table", "lock-1", 1, 2), Locks: []picture.Lock{c.lock}}})
		if len(got) != 1 || !slices.Equal(got[0].Waiters, []int{1, 2}) || got[0].Unknown != c.unknown ||
			len(got[0].Holders) != len(c.holders) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		if may := got[0].Possible; (name == "on some paths") != (len(may) == 1 && may[0].LWP == 9) {
			t.Errorf("%s: it may be held by %+v", name, may)
		}
		for i, h := range got[0].Holders {
			if h.LWP != c.holders[i] || h.At != at {
				t.Errorf("%s: %+v", name, h)
			}
		}
	}
	pic := &picture.Picture{Facts: &picture.Facts{
		Waits: slices.Concat(waiters(picture.WaitMutex, "m", "lock-1", 1), waiters(picture.WaitCritical, "halo",
			"lock-2", 2, 3, 4), waiters(picture.WaitLock, "", "", 5, 6), waiters(picture.WaitBarrier, "", "", 7)),
		Locks: []picture.Lock{{ID: "lock-1", Held: true, Owner: 1}, {ID: "lock-2", Held: true, Owner: 9}},
	}}
	got := waitgraph.Contention(pic)
	if len(got) != 2 || got[0].Target.Name != "halo" || got[1].Unknown != "what the runtime keeps of it could not "+
		"be read" { // LWP 1 has just acquired m
		t.Errorf("%+v", got)
	}
	held := waitgraph.Holdings(got)
	if len(held) != 1 || len(held[9]) != 1 || held[9][0].Name != "halo" {
		t.Errorf("%+v", held)
	}
}

// TestEnds follows chains of waits through locks and barriers to the threads that wait for no other one. A
// cycle has no end, and a possible holder does not count.
func TestEnds(t *testing.T) {
	pic := &picture.Picture{Facts: &picture.Facts{
		Waits: slices.Concat(
			waiters(picture.WaitLock, "a", "lock-1", 1, 2), waiters(picture.WaitLock, "b", "lock-2", 3), // 3 holds a
			waiters(picture.WaitLock, "c", "lock-3", 5), waiters(picture.WaitLock, "d", "lock-4", 6), // 5 and 6 a cycle
			waiters(picture.WaitLock, "e", "lock-5", 7),
			[]picture.Wait{{Thread: 4, Kind: picture.WaitSleep, Name: "sleep"}, {Thread: 8, Kind: picture.WaitSleep}},
		),
		Locks: []picture.Lock{
			{ID: "lock-1", Held: true, Owner: 3}, {ID: "lock-2", Held: true, Owner: 4},
			{ID: "lock-3", Held: true, Owner: 6}, {ID: "lock-4", Held: true, Owner: 5},
			{ID: "lock-5", Held: true, Holders: []picture.Holder{{Thread: 8, Certainty: picture.Possible}}},
		},
	}}
	g := waitgraph.NewGraph(pic)
	ends := g.Ends()
	if len(ends) != 1 || ends[0].LWP != 4 || !slices.Equal(ends[0].Waiters, []int{1, 2, 3}) {
		t.Errorf("%+v", ends)
	}
}

// TestContentionByVariable checks that a thread is listed with the others at a lock if only the lock's variable shows
// what it waits for.
func TestContentionByVariable(t *testing.T) {
	variable, other := picture.Hex(0x1000), picture.Hex(0x1008)
	waits := slices.Concat(waiters(picture.WaitLock, "table[2]", "lock-1", 1, 2),
		waiters(picture.WaitLock, "table[2]", "", 3), waiters(picture.WaitLock, "table[3]", "", 4))
	for i := range waits {
		waits[i].Address = &variable
	}
	waits[3].Address = &other
	got := waitgraph.Contention(&picture.Picture{Facts: &picture.Facts{StacksComplete: true, Waits: waits,
		Locks: []picture.Lock{{ID: "lock-1", Held: true, Holders: []picture.Holder{
			{Thread: 3, Certainty: picture.Possible}}}}}})
	if len(got) != 2 || !slices.Equal(got[0].Waiters, []int{1, 2, 3}) || len(got[0].Possible) != 0 ||
		!slices.Equal(got[1].Waiters, []int{4}) {
		t.Errorf("%+v", got)
	}
}
