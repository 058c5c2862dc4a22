package waitgraph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Contended is a lock, a critical section, a mutex or the like that threads wait for.
type Contended struct {
	Target  picture.WaitTarget
	Waiters []int // LWPs
	Holders []Holder
	// Possible are the threads that may hold it, on some paths through their code, if no holder is known.
	Possible []Holder
	// Unknown explains why no holder is known; empty if one is.
	Unknown string
}

// Holder is a thread that holds an object that others wait for.
type Holder struct {
	LWP       int
	Certainty picture.Certainty
	At        *picture.Frame // place of the acquisition; nil if unknown
}

// Contention lists the objects of waits that one thread or several readers hold, those with most waiters first.
func Contention(pic *picture.Picture) []Contended {
	if pic.Facts == nil {
		return nil
	}
	locks := map[picture.ID]*picture.Lock{}
	for i := range pic.Facts.Locks {
		locks[pic.Facts.Locks[i].ID] = &pic.Facts.Locks[i]
	}
	var out []Contended
	index, ended := map[string]int{}, pic.Facts.EndingThread()
	variables := lockVariables(pic.Facts.Waits)
	for i := range pic.Facts.Waits {
		w := &pic.Facts.Waits[i]
		l := locks[w.Lock]
		if !contends(w, l) || w.Thread == ended {
			continue
		}
		key := string(w.Lock)
		if l == nil && w.Address != nil && locks[variables[*w.Address]] != nil {
			l = locks[variables[*w.Address]]
			key = string(l.ID)
		}
		if l == nil {
			key = fmt.Sprint(w.Kind, " ", w.Address, " ", w.Name)
		}
		at, ok := index[key]
		if !ok {
			at = len(out)
			index[key] = at
			c := Contended{Target: exclusive(w, l)}
			c.addHolders(pic, l)
			out = append(out, c)
		}
		if l == nil || l.Owner != w.Thread || w.Asleep { // otherwise it has just acquired it
			out[at].Waiters = append(out[at].Waiters, w.Thread)
		}
	}
	for i := range out {
		c := &out[i] // a waiter does not hold it
		c.Possible = slices.DeleteFunc(c.Possible, func(h Holder) bool { return slices.Contains(c.Waiters, h.LWP) })
	}
	out = slices.DeleteFunc(out, func(c Contended) bool { return len(c.Waiters) == 0 })
	slices.SortStableFunc(out, func(a, b Contended) int { return cmp.Compare(len(b.Waiters), len(a.Waiters)) })
	return out
}

// lockVariables returns the locks that threads wait for, by the address of the program's variable. The runtime has
// removed the thread that gets a lock next from the lock's queue: only the variable shows that it waits for the same
// lock as others.
func lockVariables(waits []picture.Wait) map[picture.Hex]picture.ID {
	out := map[picture.Hex]picture.ID{}
	for i := range waits {
		if w := &waits[i]; w.Kind == picture.WaitLock && w.Lock != "" && w.Address != nil {
			out[*w.Address] = w.Lock
		}
	}
	return out
}

// contends reports whether a thread waits for an object that another one holds, or tries to acquire such a lock
// in a loop.
func contends(w *picture.Wait, l *picture.Lock) bool {
	return w.Kind.Exclusive() || w.Kind == picture.WaitFlag && w.Call != "" && l != nil
}

// exclusive returns the object that w waits for, with its true kind for a nestable or a polled lock.
func exclusive(w *picture.Wait, l *picture.Lock) picture.WaitTarget {
	t := target(w)
	switch {
	case w.Kind == picture.WaitFlag:
		t.Kind = picture.WaitLock
	case w.Kind == picture.WaitLock && l != nil && l.Nested:
		t.Kind = picture.WaitNestLock
	}
	if t.Name != "" {
		t.Address = nil
	}
	return t
}

// addHolders adds the threads that hold a lock, or explains why the holder is unknown.
func (c *Contended) addHolders(pic *picture.Picture, l *picture.Lock) {
	switch {
	case l == nil:
		c.Unknown = "what the runtime keeps of it could not be read"
		return
	case l.OwnerEnded:
		c.Unknown = "the thread that acquired it has ended"
		return
	case l.Owner != 0 && l.InvalidReason == "":
		c.Holders = []Holder{{l.Owner, picture.Certain, l.OwnerAt}}
		return
	}
	for _, h := range l.Holders {
		if h.Certainty == picture.Possible {
			c.Possible = append(c.Possible, Holder{h.Thread, h.Certainty, h.AcquiredAt})
		} else {
			c.Holders = append(c.Holders, Holder{h.Thread, h.Certainty, h.AcquiredAt})
		}
	}
	switch c.Unknown = l.InvalidReason; {
	case len(c.Holders) > 0, c.Unknown != "":
	case l.Shared:
		c.Unknown = "another process may hold it, which shares it"
	case l.Implementation == "mutex": // its code is not searched
		c.Unknown = "the mutex names no owner"
	case !pic.Facts.StacksComplete:
		c.Unknown = "not all stacks could be followed"
	case !l.Held && l.Implementation != string(picture.WaitFlag):
		c.Unknown = "it is being handed over"
	default:
		c.Unknown = "no thread's code shows that it holds it"
	}
}

// Holdings lists by LWP the objects that each thread holds and others wait for.
func Holdings(list []Contended) map[int][]picture.WaitTarget {
	out := map[int][]picture.WaitTarget{}
	for _, c := range list {
		for _, h := range c.Holders {
			out[h.LWP] = append(out[h.LWP], c.Target)
		}
	}
	return out
}
