package stacks

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// linkage knows which modules can call which others by name.
type linkage struct {
	code  *Code
	links map[*callbacks.Module]*links
	known map[*callbacks.Module]bool // results of isApart
}

// links are the imports of a module.
type links struct {
	locks bool     // a lock function of OpenMP; also set if the imports are unknown
	code  []uint64 // functions of other modules of the program, one each
}

// newLinkage returns the linkage of a target's modules.
func newLinkage(code *Code) *linkage {
	return &linkage{
		code:  code,
		links: map[*callbacks.Module]*links{}, known: map[*callbacks.Module]bool{},
	}
}

// isApart reports whether the module around pc imports no lock function of OpenMP, neither directly nor through
// other modules of the program.
func (l *linkage) isApart(pc uint64) bool {
	mod := l.code.ModuleOf(pc)
	if mod == nil || l.code.Symbols == nil {
		return false
	}
	is, ok := l.known[mod]
	if !ok {
		is = l.reachesNoLock(pc)
		l.known[mod] = is
	}
	return is
}

// reachesNoLock computes isApart.
func (l *linkage) reachesNoLock(pc uint64) bool {
	seen, work := map[*callbacks.Module]bool{l.code.ModuleOf(pc): true}, []uint64{pc}
	for len(work) > 0 {
		of := l.linksOf(work[0])
		if of.locks {
			return false
		}
		work = work[1:]
		for _, entry := range of.code {
			if mod := l.code.ModuleOf(entry); !seen[mod] {
				seen[mod] = true
				work = append(work, entry)
			}
		}
	}
	return true
}

// linksOf returns the imports of the module around pc.
func (l *linkage) linksOf(pc uint64) *links {
	mod := l.code.ModuleOf(pc)
	if out := l.links[mod]; out != nil {
		return out
	}
	out := &links{}
	l.links[mod] = out
	names := l.code.Symbols.LinkedNames(pc)
	out.locks = len(names) == 0 ||
		slices.ContainsFunc(l.code.runtimes, func(rt rtl.Runtime) bool { return rt.Identity().Module == mod })
	seen := map[*callbacks.Module]bool{mod: true}
	for _, name := range names {
		if c, ok := rtl.LockCallOf(name); ok {
			out.locks = out.locks || lockflow.OfOpenMP(c.Family)
			continue
		}
		entry, ok := l.code.Lookup(name)
		if !ok || seen[l.code.ModuleOf(entry)] {
			continue
		}
		seen[l.code.ModuleOf(entry)] = true
		if l.code.Class(entry) == lockflow.User {
			out.code = append(out.code, entry)
		}
	}
	return out
}
