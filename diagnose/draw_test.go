package diagnose_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// scene is a picture under construction: a team of threads with LWPs 1, 2, …
type scene struct{ *picture.Picture }

func team(n int) scene {
	s := scene{&picture.Picture{Facts: &picture.Facts{StacksComplete: true}}}
	r := picture.Region{ID: "r", Level: 1, TeamSize: n}
	for lwp := 1; lwp <= n; lwp++ {
		num, level := lwp-1, 1
		s.Threads = append(s.Threads, picture.Thread{
			LWP: lwp, ThreadNum: &num, TeamSize: &n, Level: &level, Region: "r",
			State: &picture.State{Name: picture.StateWorkParallel},
		})
		r.Threads = append(r.Threads, lwp)
	}
	s.Regions = []picture.Region{r}
	return s
}

// lock adds a held lock; its holder is set later.
func (s scene) lock(id string) *picture.Lock {
	s.Facts.Locks = append(s.Facts.Locks, picture.Lock{ID: picture.ID(id), Held: true, Evidence: "read"})
	return &s.Facts.Locks[len(s.Facts.Locks)-1]
}

func (s scene) waits(lwp int, kind picture.WaitKind, id string) *picture.Wait {
	a := picture.Hex(0x1000)
	for _, c := range id {
		a = a*31 + picture.Hex(c)
	}
	s.Facts.Waits = append(s.Facts.Waits, picture.Wait{Thread: lwp, Kind: kind, Address: &a, Name: id, Region: "r",
		Asleep: true, Lock: picture.ID(id)})
	return &s.Facts.Waits[len(s.Facts.Waits)-1]
}

// ring makes each of n threads hold a lock that the previous thread waits for.
func ring(n int, kind picture.WaitKind) scene {
	s := team(n)
	for i := 1; i <= n; i++ {
		s.lock(fmt.Sprint("l", i)).Owner = i
		s.waits(i, kind, fmt.Sprint("l", i%n+1))
	}
	return s
}

func kindsOf(vs []picture.Verdict) []picture.VerdictKind {
	var out []picture.VerdictKind
	for _, v := range vs {
		out = append(out, v.Kind)
	}
	slices.Sort(out)
	return out
}

// exclusive returns the kinds of locks that one thread holds at a time.
func exclusive() []picture.WaitKind {
	return []picture.WaitKind{picture.WaitLock, picture.WaitNestLock, picture.WaitCritical, picture.WaitMutex,
		picture.WaitAtomic}
}

// TestRings checks deadlocks of 2 to 32 threads for each kind of lock, and that there is no deadlock if one of the
// threads holds no awaited lock.
func TestRings(t *testing.T) {
	for _, kind := range exclusive() {
		for n := 2; n <= 32; n++ {
			s := ring(n, kind)
			vs := diagnose.Run(s.Picture)
			if len(vs) != 1 || vs[0].Kind != picture.VerdictDeadlock || len(vs[0].Cycle) != n ||
				vs[0].Certainty != picture.Certain {
				t.Errorf("%s ring of %d: %v", kind, n, kindsOf(vs))
			}
			s.Facts.Waits = s.Facts.Waits[1:] // the first is at work
			if vs := diagnose.Run(s.Picture); len(vs) != 0 {
				t.Errorf("%s chain of %d: %v", kind, n, kindsOf(vs))
			}
		}
	}
}

// lockCase is a lock that two of three threads wait for.
type lockCase struct {
	change func(*picture.Lock)
	want   []picture.VerdictKind
}

// TestOneLock checks the verdicts on a lock that two of three threads wait for.
func TestOneLock(t *testing.T) {
	two := func(l *picture.Lock) { n := 2; l.Waiting = &n }
	for name, c := range map[string]lockCase{
		"held by one at work": {func(l *picture.Lock) {
			l.Owner = 3
		}, nil},
		"held by a waiter": {func(l *picture.Lock) {
			l.Owner = 1
		}, []picture.VerdictKind{picture.VerdictSelfDeadlock}},
		"owner gone": {func(l *picture.Lock) {
			l.OwnerEnded = true
		}, []picture.VerdictKind{picture.VerdictLockOrphaned}},
		"not held": {func(l *picture.Lock) {
			l.Held = false
		}, nil},
		"nobody may release": {func(l *picture.Lock) {
			two(l)
			l.MayRelease = &picture.Candidates{}
		}, []picture.VerdictKind{picture.VerdictLockOrphaned}},
		"one may release": {func(l *picture.Lock) {
			two(l)
			l.MayRelease = &picture.Candidates{Threads: []int{3}}
		}, nil},
		"who may release, unknown": {two, nil},
		"who may release, in part": {func(l *picture.Lock) {
			two(l)
			l.MayRelease = &picture.Candidates{Incomplete: true}
		}, nil},
		"fewer wait than it counts": {func(l *picture.Lock) {
			n := 1
			l.Waiting = &n
			l.MayRelease = &picture.Candidates{}
		}, nil},
		"destroyed": {func(l *picture.Lock) {
			l.InvalidReason, l.Destroyed = "why", true
		}, []picture.VerdictKind{picture.VerdictLockFreed}},
		"freed, nobody shows it": {func(l *picture.Lock) {
			l.InvalidReason = "why"
		}, []picture.VerdictKind{picture.VerdictLockFreed}},
		"freed, held by one at work": {func(l *picture.Lock) {
			l.InvalidReason, l.Owner = "why", 3
		}, []picture.VerdictKind{picture.VerdictLockFreed}},
		"possible holder": {func(l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 1, Certainty: picture.Possible}}
		}, nil},
		"likely holder itself": {func(l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 1, Certainty: picture.Likely}}
		}, []picture.VerdictKind{picture.VerdictSelfDeadlock}},
	} {
		for _, kind := range exclusive() {
			s := team(3)
			c.change(s.lock("a"))
			s.waits(1, kind, "a")
			s.waits(2, kind, "a")
			if got := kindsOf(diagnose.Run(s.Picture)); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: %v, want %v", name, kind, got, c.want)
			}
		}
	}
}

// TestBarrier checks the missing members of a barrier: it is a hang only if one of them can never arrive.
func TestBarrier(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		s := team(4)
		s.Facts.Barriers = []picture.Barrier{{ID: "b", TeamSize: 4, Arrived: []int{1, 2, 3}, Missing: []int{4},
			Evidence: "counted"}}
		for lwp := 1; lwp <= 3; lwp++ {
			w := s.waits(lwp, picture.WaitBarrier, "")
			w.Barrier, w.Lock = "b", ""
		}
		want := picture.SeverityInfo
		if stuck {
			s.lock("a").Owner = 4
			s.waits(4, picture.WaitLock, "a")
			want = picture.SeverityHang
		}
		vs := diagnose.Run(s.Picture)
		i := slices.IndexFunc(vs, func(v picture.Verdict) bool { return v.Kind == picture.VerdictBarrierMissing })
		if i < 0 || vs[i].Severity != want || len(vs[i].Missing) != 1 || vs[i].Missing[0].Thread != 4 {
			t.Errorf("stuck %v: %+v", stuck, vs)
		}
	}
}

// TestCondition checks that threads that all wait on condition variables, or have unknown wakers, are no deadlock.
func TestCondition(t *testing.T) {
	for name, c := range map[string]struct {
		wakers *picture.Candidates
		want   []picture.VerdictKind
	}{
		"unknown":        {nil, nil},
		"one at work":    {&picture.Candidates{Threads: []int{3}}, nil},
		"only itself":    {&picture.Candidates{Threads: []int{1}}, nil},
		"one that waits": {&picture.Candidates{Threads: []int{2}}, []picture.VerdictKind{picture.VerdictDeadlock}},
	} {
		s := team(3)
		s.Facts.Wakers = c.wakers
		s.lock("a").Owner = 1
		s.waits(1, picture.WaitCondition, "c").Lock = ""
		s.waits(2, picture.WaitLock, "a")
		if got := kindsOf(diagnose.Run(s.Picture)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOrder checks that the order of the facts does not change the verdicts, and that a saved picture gives the
// same verdicts.
func TestOrder(t *testing.T) {
	s := ring(9, picture.WaitLock)
	want := kindsOf(diagnose.Run(s.Picture))
	for i := range s.Facts.Waits {
		s.Facts.Waits[0], s.Facts.Waits[i] = s.Facts.Waits[i], s.Facts.Waits[0]
		s.Facts.Locks[0], s.Facts.Locks[i] = s.Facts.Locks[i], s.Facts.Locks[0]
		if got := kindsOf(diagnose.Run(s.Picture)); !slices.Equal(got, want) {
			t.Errorf("order %d: %v, want %v", i, got, want)
		}
	}
	b, err := json.Marshal(s.Picture)
	if err != nil {
		t.Fatal(err)
	}
	saved := new(picture.Picture)
	if err := json.Unmarshal(b, saved); err != nil {
		t.Fatal(err)
	}
	was, _ := json.Marshal(diagnose.Run(s.Picture))
	if is, _ := json.Marshal(diagnose.Run(saved)); string(is) != string(was) {
		t.Errorf("verdicts of the saved picture: %s, want %s", is, was)
	}
}

// TestNoFacts checks that unknown facts lead to no verdict of a hang.
func TestNoFacts(t *testing.T) {
	s := ring(3, picture.WaitLock)
	s.Facts = nil
	if vs := diagnose.Run(s.Picture); len(vs) != 0 {
		t.Errorf("%v", kindsOf(vs))
	}
}
