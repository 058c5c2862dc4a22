// Package lockflow finds out from machine code and stacks which thread has a lock, and which
// threads may still give something back, wake another thread, or fulfil an event.
//
// Most locks do not say who has them. The stacks do: a thread has a lock if one of its frames
// is between the call that took it and the call that gives it back. Whether it is follows
// from the code of the frame's function (package flow): on all paths from its entry to where
// the frame is now, the lock was taken, and on none given back since. Programs wrap these
// calls in functions of their own, so what a function does with locks is summarized once, in
// terms of its arguments, and counts for every call of it.
//
// A Program holds what the code of a process tells: functions, call sites, summaries, and what
// may hold at a place in the code. It depends on no moment, and may be kept for as long as the
// process has the same modules. A Look holds the answers for the threads of one stop.
//
// Each question is answered once. A call site's callee is found once; a function's summary is
// computed once, together with those that it calls in a circle; what may hold at a place is
// computed once for all threads that are there; a lock's holders are found once, whoever waits
// for it. So the cost follows the code and the threads, not their product.
//
// Calls through pointers are followed frame by frame, by the values that the pointers have there;
// they may have had others, so that what follows is likely at best.
//
// What is not known counts as unknown: a call that cannot be followed may give any lock back,
// and makes a holder less certain. Calls of the C library do what the tables of rtl say.
//
// As an example, take a thread that sleeps in work, called here:
//
//	void update(void) {          // call sites of update:
//		omp_set_lock(&table);    //   takes table
//		work();                  //   work's summary: nothing
//		omp_unset_lock(&table);  //   gives table back
//	}
//
// The frame of update is at the call of work. On all paths there, table was taken at the first
// site and not given back, so the thread has it, certainly. From there on it may come to the
// third site, so it may give back a lock of that family.
package lockflow

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Class says what is known of code by whose it is.
type Class uint8

// The classes of code.
const (
	// Unmapped code is in no module that is known. It may do anything.
	Unmapped Class = iota
	// User code is the program's, or of a library that may know its locks. It is followed.
	User
	// Opaque code comes back into the program only through functions that it is handed,
	// and knows none of its OpenMP locks. It may wake threads of its own.
	Opaque
	// System code is the C library's, a language's, or an OpenMP runtime's: it does what
	// the tables of rtl say of its functions, by their names.
	System
)

// Code is what must be known of a process to follow its code.
type Code interface {
	// Bounds returns the function around pc, as [low, high).
	Bounds(pc uint64) (low, high uint64, ok bool)
	// Resolve names the function that begins at addr, or that the pointer at addr leads to.
	Resolve(addr uint64) (symbolic.Target, bool)
	// Lookup finds the entry of a function by its name.
	Lookup(name string) (entry uint64, ok bool)
	// Class says whose the code at pc is.
	Class(pc uint64) Class
	// Extent finds the local variable around an address in a frame, as [low, high).
	Extent(fr flow.Frame, addr uint64) (low, high uint64, ok bool)
}

// Config says what a Program is made of.
type Config struct {
	Arch callbacks.Arch
	Mem  callbacks.Memory
	Code Code
	// Meter bounds the work. It may be nil.
	Meter flow.Meter
	// Apart reports whether the code at pc is of a module that can name no lock of OpenMP: it calls none, nor
	// anything that does, but through pointers. It may be nil.
	Apart func(pc uint64) bool
}

// Program is what the code of a process tells. It is for one goroutine at a time.
type Program struct {
	cfg       Config
	functions map[uint64]*function    // by entry; nil where the code cannot be read
	around    map[uint64]*function    // by an address in it
	entries   map[string]uint64       // by name; 0 where there is none
	openmp    flow.Summaries[effects] // of the families that are OpenMP's
	others    flow.Summaries[effects] // of all others
	releases  flow.Summaries[families]
	throws    flow.Summaries[string]
	reaches   flow.Summaries[reach]
	opens     flow.Summaries[openings]
	returns   returns
	classes   map[uint64]Class // by address
	spent     bool             // the meter said that there was enough: answers are worse than the code
	cut       int
}

// maxCircle bounds the functions that call each other in circles and are asked for what they do with locks: each
// is followed for each lock that any of them acquires, until none changes. Those of an interpreter, which are
// thousands (Python's 9,400), may do anything anyway; 123 of Python's, in one circle of it, took six seconds.
const maxCircle = 64

// NewProgram returns a Program that knows nothing yet.
func NewProgram(cfg Config) *Program {
	p := &Program{}
	p.reset(cfg)
	return p
}

func (p *Program) reset(cfg Config) {
	*p = Program{
		cfg: cfg, functions: map[uint64]*function{}, around: map[uint64]*function{}, entries: map[string]uint64{},
		classes: map[uint64]Class{}, returns: newReturns(),
	}
	p.openmp = flow.Summaries[effects]{
		Callees: func(entry uint64) []uint64 { return openmpCallees(p, entry) },
		Compute: func(entry uint64, callee func(entry uint64) effects) effects {
			return computeOpenMP(p, entry, callee)
		},
		Equal: effects.equal, Unknown: effects{unclean: allFamilies}, Largest: maxCircle,
	}
	p.others = flow.Summaries[effects]{
		Callees: func(entry uint64) []uint64 { return otherCallees(p, entry) },
		Compute: func(entry uint64, callee func(entry uint64) effects) effects {
			return p.computeEffects(p.functionAt(entry), ^ofOpenMP, callee)
		},
		Equal: effects.equal, Unknown: effects{unclean: allFamilies}, Largest: maxCircle,
	}
	p.releases = flow.Summaries[families]{
		Callees: func(entry uint64) []uint64 { return releaseSources(p, entry) }, Compute: p.computeReleases,
		Equal:   func(a, b families) bool { return a == b },
		Unknown: allFamilies,
	}
	p.reaches = flow.Summaries[reach]{
		Callees: func(entry uint64) []uint64 { return mayReach(p, entry) },
		Compute: func(entry uint64, callee func(entry uint64) reach) reach { return computeReach(p, entry, callee) },
		Equal:   func(a, b reach) bool { return a == b },
		Unknown: reach{locks: allFamilies, may: allFamilies},
	}
	p.opens = flow.Summaries[openings]{
		Callees: func(entry uint64) []uint64 { return openingCallees(p, entry) },
		Equal:   openings.equal, Largest: maxCircle,
		Compute: func(entry uint64, callee func(entry uint64) openings) openings {
			return computeOpenings(p, entry, callee)
		},
	}
	p.throws = flow.Summaries[string]{
		Callees: p.calleesOf, Compute: p.computeThrows, Equal: func(a, b string) bool { return a == b },
	}
}

// Retarget makes p answer by another moment of the same process. What its code told stays;
// if some of it could not be read, or the meter ended it, all is asked anew.
func (p *Program) Retarget(cfg Config) {
	p.cfg = cfg
	if p.spent {
		p.reset(cfg)
		return
	}
	for _, f := range p.functions {
		if f == nil {
			p.reset(cfg)
			return
		}
	}
	for _, f := range p.functions {
		f.flow.Retarget(p.flowConfig())
	}
}

// Cut returns how many functions were not looked at since the meter said that there was enough.
func (p *Program) Cut() int { return p.cut }

func (p *Program) flowConfig() flow.Config {
	return flow.Config{
		Arch: p.cfg.Arch, Mem: p.cfg.Mem, Resolve: p.cfg.Code.Resolve, Meter: metered{p},
		Returns: func(callee symbolic.Target) flow.Result { return callResult(p, callee) },
		Extent:  p.cfg.Code.Extent, Solving: func(entry uint64) func() { return solving(p, entry) },
	}
}

// metered is the meter of a Program, which notes that there was enough.
type metered struct{ p *Program }

// Spend counts bytes of code.
func (m metered) Spend(work int) error {
	if m.p.cfg.Meter == nil {
		return nil
	}
	err := m.p.cfg.Meter.Spend(work)
	m.p.spent = m.p.spent || err != nil
	return err
}

// families is a set of families of locks, by their index in familyNames.
type families uint16

// familyNames are the families of lock calls.
var familyNames = [...]string{
	rtl.FamilyLock, rtl.FamilyNest, rtl.FamilyCritical, rtl.FamilyMutex, rtl.FamilyAtomic, rtl.FamilyReduction,
	rtl.FamilyCondition, rtl.FamilyEvent, rtl.FamilyReadWrite, rtl.FamilySpin, rtl.FamilySemaphore,
	rtl.FamilyStatic,
}

// allFamilies is the set of all.
const allFamilies families = 1<<len(familyNames) - 1

// ofThreads are the families that have to do with threads as such: other libraries than
// OpenMP's users have them too.
var ofThreads = familySet(rtl.FamilyMutex) | familySet(rtl.FamilyCondition) | familySet(rtl.FamilyReadWrite) |
	familySet(rtl.FamilySpin) | familySet(rtl.FamilySemaphore)

// ofOpenMP are the families that only callers of an OpenMP runtime have to do with.
var ofOpenMP = familySet(rtl.FamilyLock) | familySet(rtl.FamilyNest) | familySet(rtl.FamilyCritical) |
	familySet(rtl.FamilyAtomic) | familySet(rtl.FamilyReduction)

// OfOpenMP reports whether only callers of an OpenMP runtime have to do with a family.
func OfOpenMP(family string) bool { return familySet(family)&ofOpenMP != 0 }

// familySet returns the set of one family; of all if there is none of that name.
func familySet(name string) families {
	for i, n := range familyNames {
		if n == name {
			return 1 << i
		}
	}
	return allFamilies
}
