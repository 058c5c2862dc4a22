package diagnose_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pictures is the number of random pictures for each property.
const pictures = 300

// random returns a team of threads that wait for random locks, joins and a barrier.
func random(r *rand.Rand) scene {
	n := 2 + r.IntN(9)
	s := team(n)
	kinds := exclusive()
	for i := range 1 + r.IntN(n) {
		l := s.lock(fmt.Sprint("l", i))
		l.Owner = r.IntN(n + 1) // 0: unknown
		l.OwnerEnded = l.Owner == 0 && r.IntN(12) == 0
		if l.Owner == 0 && r.IntN(3) == 0 {
			l.Holders = []picture.Holder{{
				Thread: 1 + r.IntN(n), Evidence: "code",
				Certainty: []picture.Certainty{picture.Certain, picture.Likely, picture.Possible}[r.IntN(3)],
			}}
		}
	}
	var here, missing []int
	for lwp := 1; lwp <= n; lwp++ {
		switch r.IntN(5) {
		case 0: // at work
			missing = append(missing, lwp)
		case 1:
			here = append(here, lwp)
		case 2:
			missing = append(missing, lwp)
			s.joins(lwp, 1+(lwp+r.IntN(n-1))%n)
		default:
			missing = append(missing, lwp)
			s.waits(lwp, kinds[r.IntN(len(kinds))], fmt.Sprint("l", r.IntN(len(s.Facts.Locks))))
		}
	}
	if len(here) > 0 {
		s.arrived("b", 0x100, here, missing...)
	}
	return s
}

// each checks a property on random pictures, and reports how many of them have a hang.
func each(t *testing.T, hold func(*testing.T, *rand.Rand, scene, []picture.Verdict)) {
	t.Helper()
	hangs := 0
	for seed := range uint64(pictures) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := random(r)
		vs := diagnose.Run(s.Picture)
		if slices.ContainsFunc(vs, diagnose.Hangs) {
			hangs++
		}
		invariants(t, fmt.Sprint("seed ", seed), s, vs)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { hold(t, r, s, vs) })
	}
	if hangs < pictures/5 || hangs > pictures*4/5 {
		t.Errorf("%d of %d pictures have a hang: chance is of no use", hangs, pictures)
	}
}

// holdersOf returns the threads of the verdicts on a hang, and those that wait for them.
func holdersOf(vs []picture.Verdict) []int {
	var out []int
	for _, v := range vs {
		if diagnose.Hangs(v) {
			out = append(append(out, v.Threads...), v.Waiting...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestRandomOrder checks that the order of the facts does not change the stuck threads.
func TestRandomOrder(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s scene, vs []picture.Verdict) {
		r.Shuffle(len(s.Facts.Waits), func(i, j int) { swap(s.Facts.Waits, i, j) })
		r.Shuffle(len(s.Facts.Locks), func(i, j int) { swap(s.Facts.Locks, i, j) })
		r.Shuffle(len(s.Threads), func(i, j int) { swap(s.Threads, i, j) })
		again := diagnose.Run(s.Picture)
		if got, want := holdersOf(again), holdersOf(vs); !slices.Equal(got, want) {
			t.Errorf("keeps %v, want %v", got, want)
		}
		if got, want := kindsOf(again), kindsOf(vs); !slices.Equal(got, want) {
			t.Errorf("verdicts %v, want %v", got, want)
		}
	})
}

func swap[T any](list []T, i, j int) { list[i], list[j] = list[j], list[i] }

// TestRandomWork checks that a thread that starts to work frees threads and stops no thread.
func TestRandomWork(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s scene, vs []picture.Verdict) {
		waiting := map[int]bool{}
		for _, w := range s.Facts.Waits {
			waiting[w.Thread] = true
		}
		before := holdersOf(vs)
		for _, lwp := range before {
			if !waiting[lwp] {
				t.Errorf("LWP %d is at work, and is kept by %s", lwp, shown(vs))
			}
		}
		for len(s.Facts.Waits) > 0 {
			i := r.IntN(len(s.Facts.Waits))
			freed := s.Facts.Waits[i].Thread
			s.Facts.Waits = slices.Delete(s.Facts.Waits, i, i+1)
			after := holdersOf(diagnose.Run(s.Picture))
			for _, lwp := range after {
				if lwp == freed || !slices.Contains(before, lwp) {
					t.Fatalf("with LWP %d at work, LWP %d is kept: %v, before %v", freed, lwp, after, before)
				}
			}
			before = after
		}
		if len(before) > 0 {
			t.Errorf("nobody waits, and %v are kept", before)
		}
	})
}

// TestRandomUnknown checks that less data about a lock stops no further thread.
func TestRandomUnknown(t *testing.T) {
	each(t, func(t *testing.T, _ *rand.Rand, s scene, vs []picture.Verdict) {
		before := holdersOf(vs)
		for i := range s.Facts.Locks {
			l := &s.Facts.Locks[i]
			l.Owner, l.OwnerEnded, l.Holders, l.MayRelease = 0, false, nil, nil
			after := holdersOf(diagnose.Run(s.Picture))
			for _, lwp := range after {
				if !slices.Contains(before, lwp) {
					t.Fatalf("with less known of %s, LWP %d is kept: %v, before %v", l.ID, lwp, after, before)
				}
			}
			before = after
		}
	})
}

// TestRandomAgain checks that verdicts that a picture already has do not change the new ones.
func TestRandomAgain(t *testing.T) {
	each(t, func(t *testing.T, _ *rand.Rand, s scene, vs []picture.Verdict) {
		s.Verdicts = vs
		was, _ := json.Marshal(vs)
		if is, _ := json.Marshal(diagnose.Run(s.Picture)); string(is) != string(was) {
			t.Errorf("%s, want %s", is, was)
		}
	})
}
