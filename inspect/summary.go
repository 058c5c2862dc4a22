package inspect

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Programs wrap the calls for locks in functions of their own. What such a
// function does with a lock on its way from begin to end is found once, in terms
// of its arguments, and then counts for every call of it.

// lockEffect is what a call does with one lock.
type lockEffect struct {
	effect accesspath.Effect
	lock   *accesspath.Expr // the lock's variable; nil if it is not known which
	one    bool             // there is only one such lock, as that of the unnamed critical section
}

// lockSummary is what a function does with the locks of one family.
type lockSummary struct {
	effects []lockEffect
	clean   bool // all that it calls is known
}

// familyEntry names a summary.
type familyEntry struct {
	entry  uint64
	family string
}

const (
	// maxCallDepth bounds how far calls are followed to see what they do with
	// a lock.
	maxCallDepth = 8
	// maxSummaries bounds the functions that are looked at.
	maxSummaries = 4096
	// maxEffects bounds the locks that one function is followed for.
	maxEffects = 16
)

// siteEffects is what the call at s does with locks of a family.
func (in *Inspector) siteEffects(s accesspath.Site, family string, depth int) lockSummary {
	call, ok := rtl.LockCallOf(s.Name)
	switch {
	case ok && call.Family != family:
		return lockSummary{clean: true}
	case ok:
		e := lockEffect{effect: callEffect(call), one: call.Arg < 0}
		if call.Arg >= 0 && call.Arg < len(s.Args) {
			e.lock = s.Args[call.Arg]
		}
		return lockSummary{[]lockEffect{e}, true}
	}
	entry := in.siteEntry(s)
	if entry == 0 {
		return lockSummary{clean: s.Name != ""}
	}
	if !in.userCode(entry) {
		return lockSummary{clean: true}
	}
	sum := in.summary(entry, family, depth)
	out := lockSummary{clean: sum.clean}
	for _, e := range sum.effects {
		if e.lock != nil {
			e.lock = e.lock.With(s.Args)
		}
		out.effects = append(out.effects, e)
	}
	return out
}

// languageLibraries come with compilers. They know nothing of the program's locks.
var languageLibraries = []string{"libstdc++.", "libc++.", "libc++abi.", "libgcc_s.", "libunwind.", "libgfortran.", "libquadmath.", "libatomic."}

// userCode tells whether the code at pc is the program's own, or a library's that
// may know its locks.
func (in *Inspector) userCode(pc uint64) bool {
	mod := in.moduleOf(pc)
	return mod != nil && in.kindOf(unwind.Frame{PC: pc, Exact: true, Module: mod}) == kindUser && !languageLibrary(mod)
}

func languageLibrary(m *callbacks.Module) bool {
	base := filepath.Base(m.Path)
	return slices.ContainsFunc(languageLibraries, func(l string) bool { return strings.HasPrefix(base, l) })
}

func callEffect(c rtl.LockCall) accesspath.Effect {
	switch {
	case c.Set:
		return accesspath.EffectSet
	case c.Unset:
		return accesspath.EffectClear
	}
	return accesspath.EffectUnsure
}

// summary is what the function that begins at entry does with locks of a family.
func (in *Inspector) summary(entry uint64, family string, depth int) lockSummary {
	key := familyEntry{entry, family}
	if s, ok := in.summaries[key]; ok {
		return s
	}
	if depth == 0 || len(in.summaries) >= maxSummaries {
		return lockSummary{}
	}
	in.summaries[key] = lockSummary{clean: true} // of a call of the function within itself: nothing new
	s := in.summarize(entry, family, depth)
	in.summaries[key] = s
	return s
}

func (in *Inspector) summarize(entry uint64, family string, depth int) lockSummary {
	flow := in.flowAt(entry)
	if flow == nil {
		return lockSummary{}
	}
	bySite := map[uint64][]lockEffect{}
	out := lockSummary{clean: !flow.Indirect}
	var locks []lockEffect // each lock once
	for _, s := range flow.Sites() {
		sum := in.siteEffects(s, family, depth-1)
		out.clean = out.clean && sum.clean
		bySite[s.PC] = sum.effects
		for _, e := range sum.effects {
			if !slices.ContainsFunc(locks, func(l lockEffect) bool { return l.same(e) }) {
				locks = append(locks, e)
			}
		}
	}
	if len(locks) > maxEffects {
		return lockSummary{effects: []lockEffect{{effect: accesspath.EffectUnsure}}}
	}
	for _, l := range locks {
		l.effect = net(flow, func(s accesspath.Site) accesspath.Effect {
			for _, e := range bySite[s.PC] {
				if e.same(l) {
					return e.effect
				}
			}
			return accesspath.EffectNone
		})
		if l.effect == accesspath.EffectNone {
			continue
		}
		if l.lock != nil && !l.lock.OfArgs() {
			l.lock = nil
		}
		out.effects = append(out.effects, l)
	}
	return out
}

// same tells whether two effects are on one lock, as far as can be told. Those of
// locks that are not known are taken for one.
func (e lockEffect) same(o lockEffect) bool {
	if e.one || o.one || e.lock == nil || o.lock == nil {
		return e.one == o.one && e.lock == o.lock
	}
	return e.lock.Equal(o.lock)
}

// net is what a function does to one lock between begin and end.
func net(flow *accesspath.Flow, effect func(accesspath.Site) accesspath.Effect) accesspath.Effect {
	taken := flow.After(accesspath.FactNo, effect)
	// If the lock is taken before, a call that takes it does not return.
	given := flow.After(accesspath.FactYes, func(s accesspath.Site) accesspath.Effect {
		e := effect(s)
		if e == accesspath.EffectSet {
			return accesspath.EffectStop
		}
		return e
	})
	switch {
	case taken == accesspath.FactYes:
		return accesspath.EffectSet
	case taken == accesspath.FactPerhaps || given == accesspath.FactPerhaps:
		return accesspath.EffectUnsure
	case given == accesspath.FactNo:
		return accesspath.EffectClear
	}
	return accesspath.EffectNone
}
