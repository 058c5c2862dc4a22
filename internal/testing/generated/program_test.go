package generated

import (
	"math/rand/v2"
	"slices"
)

// Program is one random program. Equal seeds make equal programs.
type Program struct {
	Seed     uint64
	Threads  int
	Body     []*Step   // of its parallel region, which it repeats
	Helpers  [][]*Step // functions that it calls
	Mistake  Mistake
	Team     []*Step `json:",omitempty"` // a function that all threads of a team call
	Combined []*Step `json:",omitempty"` // of a region that is one construct with a loop or sections
	Way      int     `json:",omitempty"` // way in which the mistake takes its objects
	Object   int     `json:",omitempty"` // kind of these: locks, mutexes or read-write locks
	// Far are the functions in a separate file, one bit each: the helpers, followed by those of the mistake.
	Far int
	// Fortran: the helpers and the team's function that would be in the separate file are in Fortran.
	Fortran bool `json:",omitempty"`
	// Dynamic: the runtime may give inner regions fewer threads than they request.
	Dynamic bool `json:",omitempty"`
	// Limit is the number of the limits with which the program runs.
	Limit int `json:",omitempty"`
	// Milliseconds is the time for which the region is repeated.
	Milliseconds int
}

func (p *Program) far(helper int) bool { return p.Far>>helper&1 == 1 }

// farMistake reports whether the function of the mistake is in the other file.
func (p *Program) farMistake() bool { return p.far(maxHelper) }

// farTeam reports whether the function of the team is in the other file.
func (p *Program) farTeam() bool { return p.far(maxHelper + 1) }

// hasKind reports whether the program has a step of a kind.
func (p *Program) hasKind(k Kind) bool {
	return slices.ContainsFunc(p.lists(), func(list *[]*Step) bool {
		return slices.ContainsFunc(*list, func(s *Step) bool { return s.Kind == k })
	})
}

// Mistake is the defect of a program.
type Mistake string

// The mistakes.
const (
	Healthy        Mistake = ""
	LockOrder      Mistake = "lock order"       // two threads take two locks in opposite orders
	LeftOnPath     Mistake = "left on a path"   // a lock is not released where a function or an iteration is left early
	TakenTwice     Mistake = "taken twice"      // a thread takes a lock that it holds
	BarrierSkipped Mistake = "barrier skipped"  // a thread does not reach a barrier
	HeldAtTaskwait Mistake = "held at taskwait" // a task needs the lock that is held across its taskwait
	HeldAtBarrier  Mistake = "held at barrier"  // a lock is held across a barrier that others reach through it
	NeverSignalled Mistake = "never signalled"  // a condition variable is never signalled
	NestedOnce     Mistake = "nested once"      // a nest lock is released one time too few
	KeptByThread   Mistake = "kept by thread"   // a lock outlives the region that took it
	PostSkipped    Mistake = "post skipped"     // an iteration of a doacross loop does not post its end
	LeftByCallee   Mistake = "left by a callee" // a function that takes a lock returns that it has not
	LockByLevel    Mistake = "lock by level"    // a recursion takes a lock again by its number modulo two
	Ring           Mistake = "ring"             // each thread holds a lock, and takes its neighbour's
	MixedOrder     Mistake = "mixed order"      // two threads take a lock and another kind of thing in opposite orders
	CriticalTwice  Mistake = "critical twice"   // a critical section calls a function with one of the same name
	FlagNeverSet   Mistake = "flag never set"   // threads spin until a flag is set, which never happens
	HeldAtFlag     Mistake = "held at a flag"   // a lock is held in such a loop, and the setter of the flag needs it
	PostsMissing   Mistake = "posts missing"    // a semaphore is posted one time too few
	MoreThreads    Mistake = "more threads"     // a barrier of the C library needs one thread more than there are
	ReadThenWrite  Mistake = "read then write"  // a thread takes a read-write lock for reading, and then for writing
	HeldAtJoin     Mistake = "held at a join"   // a lock is held while the thread is joined that needs it
	EventMissing   Mistake = "event missing"    // the event of a detached task is never fulfilled
	LeftByJump     Mistake = "left by a jump"   // longjmp leaves a function that has taken a lock
	TakenInHandler Mistake = "taken in handler" // a signal's handler takes the lock that the interrupted code holds
	TeamTooSmall   Mistake = "team too small"   // threads await more threads than a dynamic team has
)

// Mistakes are all mistakes.
func Mistakes() []Mistake {
	return []Mistake{
		LockOrder, LeftOnPath, TakenTwice, BarrierSkipped, HeldAtTaskwait, HeldAtBarrier, NeverSignalled,
		NestedOnce, KeptByThread, PostSkipped, LeftByCallee, LockByLevel, Ring, MixedOrder, CriticalTwice,
		FlagNeverSet, HeldAtFlag, PostsMissing, MoreThreads, ReadThenWrite, HeldAtJoin, EventMissing, LeftByJump,
		TakenInHandler, TeamTooSmall,
	}
}

// Step is a statement of a program.
type Step struct {
	Kind   Kind
	N      int     // object, time, helper, …
	Style  int     `json:",omitempty"` // one of several styles
	Way    int     `json:",omitempty"` // way of naming the object
	Early  bool    `json:",omitempty"` // the iteration or the helper may end in it, after all releases
	Body   []*Step `json:",omitempty"`
	Second []*Step `json:",omitempty"` // second body, for sections
}

// Kind is the kind of a step.
type Kind string

// The kinds of steps.
const (
	Work       Kind = "work"
	Take       Kind = "take" // an object, with the body while it is held
	Barrier    Kind = "barrier"
	For        Kind = "for"
	ForNowait  Kind = "for nowait"
	ForOrdered Kind = "for ordered"
	Sections   Kind = "sections"
	Single     Kind = "single"
	Master     Kind = "master"
	Tasks      Kind = "tasks"     // N tasks, each with the body, and a taskwait
	Taskgroup  Kind = "taskgroup" // the same in a taskgroup
	Taskloop   Kind = "taskloop"
	Depend     Kind = "depend" // two tasks, one after the other
	Call       Kind = "call"   // of helper N
	Loop       Kind = "loop"   // a plain loop around the body
	Parallel   Kind = "parallel"
	Signal     Kind = "signal"      // thread 0 releases the others
	Try        Kind = "try"         // the body, and in C++ perhaps an exception after it
	Recurse    Kind = "recurse"     // helper N, after recursive calls of a function
	Reduction  Kind = "reduction"   // a loop with one
	TaskSum    Kind = "task sum"    // a taskgroup with a reduction
	CancelFor  Kind = "cancel for"  // a loop that a thread cancels
	CancelTask Kind = "cancel task" // a taskgroup that a task cancels
	Doacross   Kind = "doacross"    // a loop in which iterations wait for others
	Yield      Kind = "yield"       // taskyield
	Sleep      Kind = "sleep"
	Flag       Kind = "flag"      // threads spin until thread 0 has set a flag
	Posts      Kind = "posts"     // thread 0 posts a semaphore for each of the others
	Threads    Kind = "threads"   // a barrier of the C library
	TeamCall   Kind = "team call" // of the function with constructs that bind to the caller's region
	Through    Kind = "through"   // of helper N: by a virtual function, a template, std::function, or noexcept
	Thread     Kind = "thread"    // another thread, or std::async, calls helper N, and is joined
	Detach     Kind = "detach"    // a detached task, and a taskwait
	Hand       Kind = "hand"      // thread 0 takes a lock that thread 1 releases
	Interrupt  Kind = "interrupt" // a signal's handler works
	Jump       Kind = "jump"      // longjmp within a function
	Fork       Kind = "fork"      // of a child that ends, and is waited for
	Load       Kind = "load"      // of a library
	Wrong      Kind = "wrong"     // the program's mistake
)

// Objects that exclude each other are taken in the order of their numbers.
const (
	plainLocks = 5
	nestLocks  = 2
	criticals  = 3
	mutexes    = 2
	rwlocks    = 2
	semaphores = 2
	objects    = plainLocks + nestLocks + criticals + mutexes + rwlocks + semaphores
	// mistakenA and mistakenB are the locks that only mistakes take.
	mistakenA, mistakenB = 6, 7
	// handedOver is the lock that one thread takes for another.
	handedOver = 15
)

const (
	maxDepth  = 4
	maxHelper = 3
)

// New makes the program of a seed; about one in three is healthy.
func New(seed uint64) *Program {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	p := &Program{Seed: seed, Threads: 2 + g.IntN(4), Milliseconds: 60}
	if g.IntN(3) > 0 {
		all := Mistakes()
		p.Mistake = all[g.IntN(len(all))]
	}
	for range maxHelper {
		p.Helpers = append(p.Helpers, g.steps(place{held: true, lowest: g.IntN(objects), depth: 2, alone: true}))
	}
	p.Body = g.steps(place{team: true, calls: true})
	if g.IntN(2) == 0 {
		p.Team = g.steps(place{team: true, depth: 2, inner: true})
	}
	if g.IntN(8) == 0 {
		p.Combined = g.steps(place{depth: 2, calls: true})
	}
	if p.Mistake != Healthy {
		at := g.IntN(len(p.Body) + 1)
		wrong := &Step{Kind: Wrong, N: g.IntN(p.Threads), Style: g.IntN(8)}
		p.Way = max(0, g.IntN(2*fixedWays)-fixedWays)
		p.Object = max(0, g.IntN(5)-2)
		if p.Object == readWrite && !takenOnce[p.Mistake] {
			p.Object = 0
		}
		p.Body = append(p.Body[:at:at], append([]*Step{wrong}, p.Body[at:]...)...)
	}
	p.Far = g.IntN(4 << maxHelper)
	p.Fortran = g.IntN(3) == 0
	p.Limit = max(0, g.IntN(2*limits)-limits)
	p.Dynamic = g.IntN(4) == 0 || p.Mistake == TeamTooSmall
	for _, list := range p.lists() {
		for i, s := range *list {
			if s.Kind == TeamCall && len(p.Team) == 0 {
				(*list)[i] = g.work()
			}
		}
	}
	return p
}

// readWrite is the number of read-write locks among the objects of mistakes. The C library refuses one that its
// thread already holds, which is no hang: takenOnce are the mistakes in which that cannot happen.
const readWrite = 2

var takenOnce = map[Mistake]bool{LockOrder: true, HeldAtBarrier: true, HeldAtFlag: true, MixedOrder: true}

// place is the position of a step, with the rules for it.
type place struct {
	team   bool // all threads of the team execute it
	held   bool // an object is held: a step may wait only for objects, and run no task
	task   bool // in a task
	lowest int  // number of the lowest object that may be taken
	depth  int
	inner  bool
	calls  bool // functions of the program may be called
	alone  bool // no other thread depends on this one executing all of the function or the loop's iteration
}

func (p place) down() place { p.depth++; return p }

type generator struct{ *rand.Rand }

// steps returns a sequence of steps.
func (g generator) steps(at place) []*Step {
	n := 1 + g.IntN(3)
	if at.depth == 0 {
		n = 3 + g.IntN(4)
	}
	var all []*Step
	for range n {
		all = append(all, g.step(at))
	}
	return all
}

// step returns a step that is allowed in a place.
func (g generator) step(at place) *Step {
	if at.depth >= maxDepth {
		return g.work()
	}
	kinds := []Kind{Work, Take, Take, Take, Call, Recurse, Loop, Sleep, Through, Interrupt, Jump}
	if !at.held {
		kinds = append(kinds, Yield, Tasks, Taskgroup, Taskloop, Depend, TaskSum, CancelTask)
	}
	if !at.held && !at.task {
		kinds = append(kinds, Thread, Fork, Load)
	}
	if !at.held && !at.task && !at.inner && at.calls {
		kinds = append(kinds, Detach)
	}
	if !at.held && at.lowest == 0 {
		kinds = append(kinds, Try)
	}
	if at.team {
		kinds = append(kinds, Barrier, Barrier, For, ForNowait, ForOrdered, Sections, Single, Single, Master, Signal,
			Reduction, CancelFor, Doacross, Flag, Posts)
	}
	if at.team && at.calls {
		kinds = append(kinds, TeamCall)
		if !at.inner {
			kinds = append(kinds, Threads, Hand)
		}
	}
	if at.team && !at.inner && at.depth < 2 {
		kinds = append(kinds, Parallel)
	}
	return g.stepOf(kinds[g.IntN(len(kinds))], at)
}

func (g generator) work() *Step { return &Step{Kind: Work, N: 1 + g.IntN(40)} }

// stepOf returns a step of a kind.
func (g generator) stepOf(k Kind, at place) *Step {
	s := &Step{Kind: k, N: g.IntN(8), Style: g.IntN(8)}
	in := at.down()
	in.team, in.alone = false, false
	switch k {
	case Work:
		return g.work()
	case Take:
		if at.lowest >= objects {
			return g.work()
		}
		s.N = at.lowest + g.IntN(objects-at.lowest)
		s.Early = at.alone && g.IntN(2) == 0
		s.Way = max(0, g.IntN(ways+4)-4)
		in.held, in.lowest = true, s.N+1
		if s.Way >= fixedWays {
			in.lowest++ // it may be the next one
		}
		s.Body = g.steps(in)
	case Call, Recurse, Through, Thread:
		// A helper takes any objects in order, so it is called only where no object is held.
		if at.held || at.lowest > 0 || !at.calls {
			return g.work()
		}
		s.N = g.IntN(maxHelper)
	case Loop:
		in.team, in.alone = at.team, !at.team
		s.Body = g.steps(in)
	case Try:
		s.Body = g.steps(in)
	case Parallel:
		in.team, in.inner = true, true
		s.Body = g.steps(in)
	case Tasks, Taskgroup, Taskloop, Depend, TaskSum, CancelTask:
		in.task = true
		s.N = 1 + g.IntN(4)
		s.Body = g.steps(in)
	case For, ForNowait, ForOrdered, Single, Master, Reduction, CancelFor, Doacross:
		s.Body = g.steps(in)
	case Sections:
		s.Body, s.Second = g.steps(in), g.steps(in)
	}
	return s
}
