// Package lockflow finds the threads that hold a lock, and the threads that may still release a lock, wake
// another thread, or fulfil an event. It uses machine code and stacks.
//
// Most locks do not record their holder. A thread holds a lock if one of its frames is between the call that
// took it and the call that releases it. Package flow decides this from the code of the frame's function: on all
// paths from its entry to the current place, the lock was taken and not released since. Programs wrap these
// calls in functions of their own. So the effects of a function on locks are summarized once, in terms of its
// arguments, and used for every call of it.
//
// A Program contains the results that follow from the code of a process: functions, call sites, summaries, and
// the lock states that are possible at a place in the code. It is independent of the snapshot and can be kept as
// long as the process has the same modules. A Look contains the answers for the threads of one stop.
//
// Each question is answered once: the callee of a call site; the summary of a function, together with the
// functions that it is mutually recursive with; the lock states at a place, for all threads there; the holders
// of a lock, for all waiters. So the cost grows with the code plus the threads, not with their product.
//
// Calls through pointers are resolved frame by frame, with the current values of the pointers. The pointers may
// have had other values before, so the result is likely at best.
//
// A call of unknown code may release any lock and makes a holder less certain. Calls of the C library have the
// effects listed in the tables of rtl.
//
// As an example, consider a thread that sleeps in work, called here:
//
//	void update(void) {          // call sites of update:
//		omp_set_lock(&table);    //   takes table
//		work();                  //   work's summary: no effect
//		omp_unset_lock(&table);  //   releases table
//	}
//
// The frame of update is at the call of work. On all paths there, table was taken at the first site and not
// released, so the thread certainly holds it. It may reach the third site, so it may release a lock of that
// family.
package lockflow

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Class classifies code by its owner.
type Class uint8

// The classes of code.
const (
	// Unmapped code is outside all known modules. It may do anything.
	Unmapped Class = iota
	// User code belongs to the program, or to a library that may use its locks. It is followed.
	User
	// Opaque code calls the program only through functions passed to it, and uses none of its OpenMP locks. It
	// may wake threads of its own.
	Opaque
	// Interpreter code executes a program that is not machine code. It is not followed: it may call any function,
	// and release any lock.
	Interpreter
	// System code belongs to the C library, a language library, or an OpenMP runtime. The tables of rtl describe
	// its functions by name.
	System
)

// Code provides the facts about a process that are needed to follow its code.
type Code interface {
	// Bounds returns the function around pc, or the part of a function in a place of its own, as [low, high).
	Bounds(pc uint64) (low, high uint64, ok bool)
	// PartOf returns the entry of the function that has a part in a place of its own at low, 0 if it is unknown.
	PartOf(low uint64) (entry uint64, ok bool)
	// Parts returns the starts of such parts of the function at entry, as far as they are known.
	Parts(entry uint64) []uint64
	// Resolve returns the function that starts at addr, or that the pointer at addr leads to.
	Resolve(addr uint64) (symbolic.Target, bool)
	// Lookup returns the entry of the function with a name.
	Lookup(name string) (entry uint64, ok bool)
	// Class returns the class of the code at pc.
	Class(pc uint64) Class
	// IsFixed reports whether the program cannot write the memory at addr.
	IsFixed(addr uint64) bool
	// Extent returns the local variable around an address in a frame, as [low, high).
	Extent(fr flow.Frame, addr uint64) (low, high uint64, ok bool)
}

// Config configures a Program.
type Config struct {
	Arch callbacks.Arch
	Mem  callbacks.Memory
	Code Code
	// Meter bounds the work. It may be nil.
	Meter flow.Meter
	// Apart reports whether the code at pc is in a module that cannot name an OpenMP lock: it calls no OpenMP
	// lock function, neither directly nor through others, except through pointers. It may be nil.
	Apart func(pc uint64) bool
	// Handler returns the handler of an exception that the call around pc throws. It may be nil: then all exceptions
	// may be caught.
	Handler func(pc uint64) Handler
}

// Program contains the results that follow from the code of a process. It is for one goroutine at a time.
type Program struct {
	cfg       Config
	functions map[uint64]*function                  // by entry; nil if the code is unreadable
	around    map[uint64]*function                  // by an address in it
	entries   map[string]uint64                     // by name; 0 if there is no such function
	effects   map[families]*flow.Summaries[effects] // by family
	removed   map[[2]uint64]removedFrames           // results of RemovedFrames, by both functions
	releases  flow.Summaries[families]
	throws    flow.Summaries[exits]
	reaches   flow.Summaries[reach]
	takes     flow.Summaries[families] // families of locks that it may take
	opens     flow.Summaries[openings]
	gives     flow.Summaries[bool] // whether it may release a lock first
	returns   returns
	code      *codeCache
	reader    *symbolic.Reader  // of all functions; nil on instruction sets without support
	unread    bool              // the memory of some function was unreadable
	variables map[uint64]uint64 // values of pointers in variables on which summaries depend, by address
	spent     bool              // the meter's budget was exhausted: answers may be less precise than the code allows
	cut       int
}

// maxCircle bounds the size of a group of mutually recursive functions for which effects on locks are computed:
// each function is solved for each lock that any of them acquires, until there are no changes. Interpreters that
// are not known as such have thousands of such functions (Python's group: 9,400), and they may have any effect
// anyway. A group of 123 functions of Python took 6 s.
const maxCircle = 64

// NewProgram returns an empty Program.
func NewProgram(cfg Config) *Program {
	p := &Program{}
	p.reset(cfg)
	return p
}

func (p *Program) reset(cfg Config) {
	code := newCodeCache(cfg.Code)
	cfg.Code = code
	*p = Program{
		cfg: cfg, functions: map[uint64]*function{}, around: map[uint64]*function{}, entries: map[string]uint64{},
		effects: map[families]*flow.Summaries[effects]{}, code: code, returns: newReturns(),
		removed: map[[2]uint64]removedFrames{}, variables: map[uint64]uint64{},
	}
	p.reader, _ = symbolic.NewReader(cfg.Arch, cfg.Mem, code.Resolve)
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
	p.takes = flow.Summaries[families]{
		Callees: func(entry uint64) []uint64 { return takingCallees(p, entry) },
		Compute: func(entry uint64, callee func(entry uint64) families) families {
			return computeTakes(p, entry, callee)
		},
		Equal:   func(a, b families) bool { return a == b },
		Unknown: allFamilies,
	}
	p.opens = flow.Summaries[openings]{
		Callees: func(entry uint64) []uint64 { return openingCallees(p, entry) },
		Equal:   openings.equal, Largest: maxCircle,
		Compute: func(entry uint64, callee func(entry uint64) openings) openings {
			return computeOpenings(p, entry, callee)
		},
	}
	p.gives = flow.Summaries[bool]{
		Callees: func(entry uint64) []uint64 { return givingCallees(p, entry) },
		Compute: func(entry uint64, callee func(entry uint64) bool) bool { return computeGives(p, entry, callee) },
		Equal:   func(a, b bool) bool { return a == b },
		Unknown: true,
	}
	p.throws = flow.Summaries[exits]{
		Callees: p.calleesOf, Compute: p.computeThrows, Equal: func(a, b exits) bool { return a == b },
	}
}

// Retarget makes p use another snapshot of the same process. Results are kept, unless some code was unreadable, the
// meter's budget was exhausted, or a pointer that leads to a callee has changed; then p is reset.
func (p *Program) Retarget(cfg Config) {
	p.cfg, p.code.Code = cfg, cfg.Code
	if p.spent || p.unread || p.haveChanged() {
		p.reset(cfg)
		return
	}
	p.cfg.Code = p.code
	if p.reader != nil {
		p.reader.Retarget(cfg.Mem, p.code.Resolve)
	}
	flows := p.flowConfig()
	for _, f := range p.functions {
		if f != nil {
			f.flow.Retarget(flows)
		}
	}
}

// Cut returns the number of functions skipped because the meter's budget was exhausted.
func (p *Program) Cut() int { return p.cut }

func (p *Program) flowConfig() flow.Config {
	var pad func(pc uint64) uint64
	if p.cfg.Handler != nil {
		pad = func(pc uint64) uint64 { return p.cfg.Handler(pc).Pad }
	}
	return flow.Config{
		Pad: pad, Arch: p.cfg.Arch, Mem: p.cfg.Mem, Resolve: p.cfg.Code.Resolve, Meter: metered{p}, Reader: p.reader,
		Returns: func(callee symbolic.Target) flow.Result { return callResult(p, callee) },
		Extent:  p.cfg.Code.Extent, Fixed: p.cfg.Code.IsFixed,
		Solving: func(entry uint64) func() { return solving(p, entry) },
	}
}

// metered is the meter of a Program. It records that the budget was exhausted.
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

// families is a set of lock families, by index in familyNames.
type families uint16

// familyNames are the families of lock calls.
var familyNames = [...]string{
	rtl.FamilyLock, rtl.FamilyNest, rtl.FamilyCritical, rtl.FamilyMutex, rtl.FamilyAtomic, rtl.FamilyReduction,
	rtl.FamilyCondition, rtl.FamilyEvent, rtl.FamilyReadWrite, rtl.FamilySpin, rtl.FamilySemaphore,
	rtl.FamilyStatic,
}

// allFamilies is the set of all families.
const allFamilies families = 1<<len(familyNames) - 1

// ofThreads are the families for threads in general: libraries that do not use OpenMP use them too.
var ofThreads = familySet(rtl.FamilyMutex) | familySet(rtl.FamilyCondition) | familySet(rtl.FamilyReadWrite) |
	familySet(rtl.FamilySpin) | familySet(rtl.FamilySemaphore)

// ofOpenMP are the families that only callers of an OpenMP runtime use.
var ofOpenMP = familySet(rtl.FamilyLock) | familySet(rtl.FamilyNest) | familySet(rtl.FamilyCritical) |
	familySet(rtl.FamilyAtomic) | familySet(rtl.FamilyReduction)

// OfOpenMP reports whether only callers of an OpenMP runtime use a family.
func OfOpenMP(family string) bool { return familySet(family)&ofOpenMP != 0 }

// familySet returns the set that contains one family, or all families if the name is unknown.
func familySet(name string) families {
	for i, n := range familyNames {
		if n == name {
			return 1 << i
		}
	}
	return allFamilies
}
