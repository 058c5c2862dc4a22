package inspect

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Bounds on what one picture holds. They keep the cost of a damaged target
// finite; real programs stay far below them, but for MaxTasks.
const (
	// MaxFrames bounds a native stack.
	MaxFrames = 512
	// MaxThreads bounds the threads of a target; a Linux process cannot have
	// more than /proc/sys/kernel/threads-max, about 4 million, and a core
	// with 100,000 is already several hundred megabytes.
	MaxThreads = 1 << 17
	// MaxLevels bounds the nesting of parallel regions.
	MaxLevels = 1024
	// MaxTasks is how many tasks a Picture holds; Inspector.Tasks yields all.
	MaxTasks = 20000
)

// Parts says which parts of a picture are wanted; nothing else is read.
type Parts struct {
	Threads bool // with state, place, and user stack
	Regions bool
	Tasks   bool
	ICVs    bool
	Stacks  bool // merged user-model stacks
	Native  bool // native stacks in Threads
}

// All are the parts of a report.
var allParts = Parts{Threads: true, Regions: true, Tasks: true, Stacks: true}

// ReportParts returns the parts that a report needs.
func ReportParts() Parts { return allParts }

// Config is what an Inspector works on.
type Config struct {
	// About describes the target; the Inspector completes it.
	About Target
	// Target is the target itself. Registers and modules are used if it has
	// the powers.
	Target callbacks.Target
	// Runtimes are the OpenMP runtimes that were found in it.
	Runtimes []rtl.Runtime
	// Dormant are runtimes that are loaded and not used yet.
	Dormant []*rtl.Dormant
	// Symbolizer names code; nil leaves everything unnamed.
	Symbolizer *symbolize.Symbolizer
	// Unwinder walks stacks; nil leaves stacks out, and states are then
	// inferred from the runtime's own fields only.
	Unwinder *unwind.Unwinder
	// Functions has what the code of functions showed an Inspector of the same process
	// before, which is not used any more; nil keeps nothing.
	Functions *Functions
	// Warnings of whoever opened the target; the picture repeats them.
	Warnings []error
}

// Functions keeps what the code of functions showed, from one Inspector of a process to the
// next, as long as its modules are the same. The zero value is empty. It is not for
// concurrent use.
type Functions struct {
	flows map[uint64]*accesspath.Flow // by the function's entry
}

// retarget gives the flows to a new Inspector; nil keeps none.
func (c *Functions) retarget(mem callbacks.Memory) map[uint64]*accesspath.Flow {
	if c == nil {
		c = &Functions{}
	}
	if c.flows == nil {
		c.flows = map[uint64]*accesspath.Flow{}
	}
	for entry, f := range c.flows {
		if f == nil { // its code may be readable now
			delete(c.flows, entry)
			continue
		}
		f.Retarget(mem)
	}
	return c.flows
}

// Inspector makes pictures of one target at one stop. It reads lazily and
// remembers what it read. It is for one goroutine at a time.
type Inspector struct {
	cfg         Config
	runtimes    []*runtimeView
	natives     []*native
	byLWP       map[int]*native
	blocks      []*native // by the address of their blocks; nil until it is asked for
	byHandle    map[handles.Thread]*native
	regions     *regionTable
	code        map[uint64][]symbolize.Frame
	flows       map[uint64]*accesspath.Flow // by the function's entry; nil where its code cannot be read
	loops       map[loopPlace]loopPoint
	summaries   map[familyEntry]lockSummary
	gives       map[familyEntry]bool // may a function give a lock back
	pointers    []heapPointer        // nil until they are asked for
	locals      map[uint64]string    // names of local variables, by address
	allowed     map[int][]int        // processors by LWP
	stacks      []nativeStack        // nil until they are asked for
	caches      []freeBlock          // nil until they are asked for
	gone        map[uint64]string    // why memory at an address is gone; empty if it is not
	constructOf map[uint64]construct // nil until they are asked for
	warned      map[string]bool
	warnings    []string
}

// runtimeView is a runtime with the name that the picture gives it.
type runtimeView struct {
	rtl.Runtime
	id string
}

// told tells whether all that is known of a runtime is what its own functions tell:
// it has no fields then to hold against them, and nothing of the code of regions.
func (rt *runtimeView) told() bool { return rt.Layout().Instead != "" }

// native is one thread of the target, and what a runtime knows of it.
type native struct {
	lwp     int
	pthread uint64
	regs    *callbacks.Registers
	asked   bool // for the registers
	blank   bool // its stack and thread-local data are missing
	rt      *runtimeView
	h       handles.Thread
	info    rtl.ThreadInfo
	infoErr error
	chain   []handles.Parallel // regions, innermost first; empty for idle and foreign threads
	stack   *stack
	seen    *rtl.Evidence // nil until it is first gathered, or if there is none
	state   *threadState  // nil until it is first asked for
	errs    []error
}

// threadState is the answer of a thread's runtime.
type threadState struct {
	rtl.ThreadState
	err error
}

// New returns an Inspector. Its error is of the target as a whole: threads that
// cannot be listed.
func New(cfg Config) (*Inspector, error) {
	in := &Inspector{
		cfg: cfg, byLWP: map[int]*native{}, byHandle: map[handles.Thread]*native{},
		code: map[uint64][]symbolize.Frame{}, warned: map[string]bool{},
		flows: cfg.Functions.retarget(cfg.Target), loops: map[loopPlace]loopPoint{}, summaries: map[familyEntry]lockSummary{}, gives: map[familyEntry]bool{}, gone: map[uint64]string{},
		locals: map[uint64]string{}, allowed: map[int][]int{},
	}
	in.regions = newRegionTable(in)
	for _, err := range cfg.Warnings {
		in.warn("%s", message(err))
	}
	seen := map[string]int{}
	for _, rt := range cfg.Runtimes {
		id := rt.Identity().Family
		seen[id]++
		if seen[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, seen[id])
		}
		in.runtimes = append(in.runtimes, &runtimeView{rt, id})
	}
	if err := in.listNatives(); err != nil {
		return nil, err
	}
	in.matchThreads()
	return in, nil
}

// Target is what the Inspector works on.
func (in *Inspector) Target() callbacks.Target { return in.cfg.Target }

// Describe says what the target is, and what is odd about it as a whole.
func (in *Inspector) Describe(about Target, warnings ...error) {
	in.cfg.About = about
	for _, err := range warnings {
		in.warn("%s", message(err))
	}
}

func (in *Inspector) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !in.warned[w] {
		in.warned[w] = true
		in.warnings = append(in.warnings, w)
	}
}

// listNatives makes the list of the target's own threads.
func (in *Inspector) listNatives() error {
	lwps, err := in.cfg.Target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	if len(lwps) > MaxThreads {
		in.warn("%d threads, only the first %d are shown", len(lwps), MaxThreads)
		lwps = lwps[:MaxThreads]
	}
	pthreads, err := in.cfg.Target.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		in.warn("threads have no pthread_t: %v", err)
	}
	for i, id := range lwps {
		n := &native{lwp: int(id.Value)}
		if i < len(pthreads) {
			n.pthread = pthreads[i].Value
		}
		in.natives = append(in.natives, n)
		in.byLWP[n.lwp] = n
	}
	in.findBlanks()
	return nil
}

// findBlanks finds threads whose stack and thread-local data are not in a core:
// gcore leaves zeros where it could not read. A thread's block begins with its own
// address.
func (in *Inspector) findBlanks() {
	if in.cfg.Target.Arch() != callbacks.ArchX86_64 {
		return
	}
	var blank []int
	for _, n := range in.natives {
		if self, ok := in.pointer(n.pthread); n.pthread != 0 && ok && self == 0 {
			n.blank = true
			blank = append(blank, n.lwp)
		}
	}
	if len(blank) > 0 {
		in.warn("the thread block of %s (first: LWP %d) reads as zeros: who wrote the core could not read their stacks, as gdb's gcore cannot with glibc 2.42 and newer; what these threads do is not known. A core that the kernel writes has all", threads(len(blank)), blank[0])
	}
}

// matchThreads joins the runtimes' threads with the target's by pthread_t.
func (in *Inspector) matchThreads() {
	byPthread := map[uint64]*native{}
	for _, n := range in.natives {
		if n.pthread != 0 {
			byPthread[n.pthread] = n
		}
	}
	for _, rt := range in.runtimes {
		for h, err := range rt.Threads() {
			if err != nil {
				in.warn("%s: a thread could not be read: %v", rt.id, err)
				continue
			}
			in.matchThread(rt, h, byPthread)
		}
	}
}

func (in *Inspector) matchThread(rt *runtimeView, h handles.Thread, byPthread map[uint64]*native) {
	info, err := rt.Thread(h)
	n := byPthread[info.Pthread.Value]
	switch {
	case n == nil:
		n = &native{pthread: info.Pthread.Value}
		n.errs = append(n.errs, errors.New("it is not among the threads of the target: not yet started, ended, or not dumped"))
		in.natives = append(in.natives, n)
	case n.rt == rt:
		in.warn("%s: threads %d and %d both claim pthread %#x", rt.id, n.info.Number, info.Number, n.pthread)
		return
	case n.rt != nil:
		// A thread can be known to two runtimes; it shows the one in which it
		// is in a region.
		in.byHandle[h] = n
		if rt.id == n.rt.id || !in.deeper(rt, h, n) {
			return
		}
	}
	n.rt, n.h, n.info, n.infoErr = rt, h, info, err
	in.byHandle[h] = n
	if err != nil {
		n.errs = append(n.errs, err)
		return
	}
	n.chain = in.chainOf(n)
}

// deeper tells whether thread h of rt is in a deeper region than what n shows.
func (in *Inspector) deeper(rt *runtimeView, h handles.Thread, n *native) bool {
	p, err := rt.CurrentParallel(h)
	return err == nil && int(p.Level) >= len(n.chain)
}

// chainOf returns the regions that a thread is in, innermost first.
func (in *Inspector) chainOf(n *native) []handles.Parallel {
	if n.info.Role == rtl.RoleIdle {
		return nil
	}
	p, err := n.rt.CurrentParallel(n.h)
	var chain []handles.Parallel
	seen := map[handles.Parallel]bool{}
	for err == nil {
		if seen[p] || len(chain) >= MaxLevels {
			n.errs = append(n.errs, fmt.Errorf("enclosing regions of %v do not end", p))
			return chain
		}
		seen[p] = true
		chain = append(chain, p)
		p, err = n.rt.EnclosingParallel(p)
	}
	if !errors.Is(err, callbacks.Unavailable) {
		n.errs = append(n.errs, err)
	}
	return chain
}

// registers returns the registers of n, or nil.
func (in *Inspector) registers(n *native) *callbacks.Registers {
	if n.asked || n.lwp == 0 {
		return n.regs
	}
	n.asked = true
	rr, ok := in.cfg.Target.(callbacks.RegisterReader)
	if !ok {
		return nil
	}
	regs, err := rr.Registers(callbacks.LWP(uint64(n.lwp)))
	if err != nil {
		n.errs = append(n.errs, err)
		return nil
	}
	n.regs = &regs
	return n.regs
}
