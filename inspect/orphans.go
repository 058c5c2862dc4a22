package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// AllWait tells whether all threads that seem to wait for a lock do, and none of them
// has just taken it and not left the runtime's code: the lock counts as many, or
// each sleeps on a futex.
func (in *Inspector) AllWait(l Lock, lwps []int) bool {
	if l.Counted {
		return len(lwps) <= l.Waiting
	}
	return !slices.ContainsFunc(lwps, func(lwp int) bool {
		n := in.byLWP[lwp]
		return n == nil || !in.onFutex(n)
	})
}

// onFutex tells whether a thread is known to sleep on a futex.
func (in *Inspector) onFutex(n *native) bool {
	regs := in.registers(n)
	if regs == nil {
		return false
	}
	_, asleep := arch.IsFutexWait(regs)
	return asleep
}

// AllStacks tells whether the stacks of all threads are known as a whole, so that what
// none of them shows is not there.
func (in *Inspector) AllStacks() bool {
	return !slices.ContainsFunc(in.natives, func(n *native) bool {
		return n.blank || n.lwp != 0 && n.info.Role != rtl.RoleIdle && !in.whole(in.stackOf(n))
	})
}

// Abandoned tells whether no thread will give back the lock that w waits for: no
// code that any thread may still come to has a call that gives such locks back,
// but for those that wait for this lock themselves and do so behind. waiting are
// the LWPs of these.
//
// It is false whenever that cannot be told, as while tasks are queued, where a
// call leads to code that is not known, or where a stack is not whole.
func (in *Inspector) Abandoned(w Wait, l Lock, waiting map[int]bool) bool {
	family, ok := lockFamily(w, l)
	if !ok || !w.known() || !l.Held || l.Owner != 0 || l.OwnerGone || len(l.Holders) > 0 {
		return false
	}
	for _, n := range in.natives {
		if n.blank {
			return false
		}
		if n.lwp == 0 || waiting[n.lwp] || n.info.Role == rtl.RoleIdle || n.info.HiddenHelper {
			continue
		}
		if !in.givesNothing(n, family) {
			return false
		}
	}
	return true
}

// givesNothing tells whether no frame of n can come to a call that gives a lock of
// a family back.
func (in *Inspector) givesNothing(n *native, family string) bool {
	st := in.stackOf(n)
	if !in.whole(st) {
		return false
	}
	for i, f := range st.frames {
		if st.kinds[i] != kindUser {
			continue
		}
		flow := in.flowAt(f.LookupPC())
		if flow == nil {
			return false
		}
		at := in.point(st, i)
		if s, ok := flow.SiteAt(at); ok && i > 0 && givesBack(s, family) {
			return false // it is just doing so
		}
		for _, s := range flow.SitesAfter(at) {
			if in.mayGive(s, family, maxCallDepth) {
				return false
			}
		}
	}
	return true
}

// givesBack tells whether s is a call of a function that gives something of a family
// back.
func givesBack(s accesspath.Site, family string) bool {
	c, ok := rtl.LockCallOf(s.Name)
	return ok && c.Family == family && c.Unset
}

// mayGive tells whether the call at s may lead to one that gives a lock of a
// family back, directly or by a function that is handed on, as to the runtime for
// a region. What cannot be followed may.
func (in *Inspector) mayGive(s accesspath.Site, family string, depth int) bool {
	if c, ok := rtl.LockCallOf(s.Name); ok {
		return c.Family == family && c.Unset
	}
	for _, a := range s.Args {
		if addr, ok := a.Address(); ok && in.beginsFunction(addr) && in.functionGives(addr, family, depth) {
			return true
		}
	}
	entry := in.siteEntry(s)
	switch {
	case entry == 0:
		return s.Name == ""
	case !in.userCode(entry):
		return false
	}
	return in.functionGives(entry, family, depth)
}

// functionGives is mayGive for a whole function.
func (in *Inspector) functionGives(entry uint64, family string, depth int) bool {
	key := familyEntry{entry, family}
	if known, ok := in.gives[key]; ok {
		return known
	}
	flow := in.flowAt(entry)
	if flow == nil || depth == 0 || len(in.gives) >= maxSummaries {
		return true
	}
	in.gives[key] = false // of a call of the function within itself: nothing new
	may := slices.ContainsFunc(flow.Sites(), func(s accesspath.Site) bool { return in.mayGive(s, family, depth-1) })
	in.gives[key] = may
	return may
}

// beginsFunction tells whether a function of the program begins at addr.
func (in *Inspector) beginsFunction(addr uint64) bool {
	if !in.userCode(addr) {
		return false
	}
	low, _, ok := in.cfg.Unwinder.FunctionBounds(addr)
	return ok && low == addr
}
