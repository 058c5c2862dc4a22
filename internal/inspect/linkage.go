package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// linkage is which modules can name which others' functions.
type linkage struct {
	code     *codeNames
	runtimes []*runtimeView
	links    map[*callbacks.Module]*links
	known    map[*callbacks.Module]bool // they are apart
}

// links are what a module is linked with.
type links struct {
	locks bool     // a function of OpenMP that has to do with locks; also if nothing is known
	code  []uint64 // functions of other modules of the program, one of each
}

func newLinkage(code *codeNames, runtimes []*runtimeView) *linkage {
	return &linkage{
		code: code, runtimes: runtimes,
		links: map[*callbacks.Module]*links{}, known: map[*callbacks.Module]bool{},
	}
}

// apart reports whether the code at pc is of a module that is linked with no function of OpenMP that has to do with
// locks, nor with a module of the program that is, and so on.
func (l *linkage) apart(pc uint64) bool {
	mod := l.code.moduleOf(pc)
	if mod == nil || l.code.sym == nil {
		return false
	}
	is, ok := l.known[mod]
	if !ok {
		is = l.reachesNoLock(pc)
		l.known[mod] = is
	}
	return is
}

func (l *linkage) reachesNoLock(pc uint64) bool {
	seen, work := map[*callbacks.Module]bool{l.code.moduleOf(pc): true}, []uint64{pc}
	for len(work) > 0 {
		of := l.linksOf(work[0])
		if of.locks {
			return false
		}
		work = work[1:]
		for _, entry := range of.code {
			if mod := l.code.moduleOf(entry); !seen[mod] {
				seen[mod] = true
				work = append(work, entry)
			}
		}
	}
	return true
}

// linksOf is what the module around pc is linked with.
func (l *linkage) linksOf(pc uint64) *links {
	mod := l.code.moduleOf(pc)
	if out := l.links[mod]; out != nil {
		return out
	}
	out := &links{}
	l.links[mod] = out
	names := l.code.sym.Bound(pc)
	out.locks = len(names) == 0 ||
		slices.ContainsFunc(l.runtimes, func(rt *runtimeView) bool { return rt.Identity().Module == mod })
	seen := map[*callbacks.Module]bool{mod: true}
	for _, name := range names {
		if c, ok := rtl.LockCallOf(name); ok {
			out.locks = out.locks || lockflow.OfOpenMP(c.Family)
			continue
		}
		entry, ok := programCode{l.code}.Lookup(name)
		if !ok || seen[l.code.moduleOf(entry)] {
			continue
		}
		seen[l.code.moduleOf(entry)] = true
		if (programCode{l.code}).Class(entry) == lockflow.User {
			out.code = append(out.code, entry)
		}
	}
	return out
}
