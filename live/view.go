package live

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// thread is one thread of the process.
type thread struct {
	lwp  uint64
	regs callbacks.Registers
	err  error // the reason if regs are unknown
	// vectors are the floating-point and vector registers, if requested and outside of system
	// calls.
	vectors []byte
	// switches is the number of context switches; set by peekSettled.
	switches uint64
}

// roster is a list of threads.
type roster struct {
	threads []thread
	byLWP   map[uint64]int
}

func newRoster(threads []thread) *roster {
	r := &roster{threads, make(map[uint64]int, len(threads))}
	for i, t := range threads {
		r.byLWP[t.lwp] = i
	}
	return r
}

// rosterOf wraps an existing list of threads as the function that newView needs.
func rosterOf(threads []thread) func() (*roster, error) {
	r := newRoster(threads)
	return func() (*roster, error) { return r, nil }
}

// find returns the thread with an LWP; nil if it is missing.
func (r *roster) find(lwp uint64) *thread {
	i, ok := r.byLWP[lwp]
	if !ok {
		return nil
	}
	return &r.threads[i]
}

// StoppedTarget is a target that may be read while its process is stopped.
type StoppedTarget interface {
	callbacks.Target
	// IsHeld reports whether the process is stopped during the answer, which should then not take long.
	IsHeld() bool
}

// view is the process as shown by one memory and one list of threads.
type view struct {
	p      *Process
	mem    callbacks.Memory
	roster func() (*roster, error) // waits until the list is complete
	// separate is roster with the thread pointers of their own threads only.
	separate func() (*roster, error)
	maps     []mapping
	mods     *modules.Table
	held     bool // the process is stopped during the answer
	// lacksVectors is set when the answer needs vector registers that only the next stop copies.
	lacksVectors bool
}

var (
	_ callbacks.Target         = (*view)(nil)
	_ callbacks.Lender         = (*view)(nil)
	_ callbacks.RegisterReader = (*view)(nil)
	_ callbacks.ModuleLister   = (*view)(nil)
	_ callbacks.MappingLister  = (*view)(nil)
	_ StoppedTarget            = (*view)(nil)
)

func (p *Process) newView(mem callbacks.Memory, threads func() (*roster, error)) *view {
	v := &view{p: p, mem: mem, roster: threads}
	v.maps, v.mods = p.lastLayout()
	v.separate = sync.OnceValues(v.separateThreads)
	return v
}

// separateThreads returns the list of threads, in which threads that have the thread pointer of another one have none.
func (v *view) separateThreads() (*roster, error) {
	all, err := v.roster()
	if err != nil {
		return nil, err
	}
	pointers := make([]uint64, len(all.threads))
	for i := range all.threads {
		pointers[i] = all.threads[i].regs.ThreadPointer
	}
	id := func(i int) uint64 { return uint64(v.p.insideID(int(all.threads[i].lwp))) }
	shared := modules.SharedPointers(pointers)
	if len(shared) == 0 {
		return all, nil
	}
	var borrowers []int
	v.p.tableMemory.runWith(v.mem, func() { borrowers = v.mods.Borrowers(shared, id) })
	threads := slices.Clone(all.threads)
	for _, i := range borrowers {
		threads[i].regs.ThreadPointer = 0
	}
	return newRoster(threads), nil
}

func (v *view) Arch() callbacks.Arch { return v.p.arch }

// IsHeld implements StoppedTarget.
func (v *view) IsHeld() bool { return v.held }

func (v *view) ReadMemory(a callbacks.Address, b []byte) error { return v.mem.ReadMemory(a, b) }

// Lend returns n bytes at address a. It implements callbacks.Lender.
func (v *view) Lend(a callbacks.Address, n uint64) []byte {
	if l, ok := v.mem.(callbacks.Lender); ok {
		return l.Lend(a, n)
	}
	return nil
}

func (v *view) Modules() ([]*callbacks.Module, error) { return v.mods.Modules() }

func (v *view) Mappings() []callbacks.Mapping { return publicMaps(v.maps) }

func publicMaps(maps []mapping) []callbacks.Mapping {
	list := make([]callbacks.Mapping, len(maps))
	for i, m := range maps {
		list[i] = m.Mapping
	}
	return list
}

func (v *view) Symbol(name, file string) (callbacks.Address, error) { return v.mods.Symbol(name, file) }

func (v *view) ThreadSymbol(t callbacks.ThreadID, name, file string) (a callbacks.Address, err error) {
	tp, err := v.threadPointer(t)
	if err != nil {
		return a, err
	}
	v.p.tableMemory.runWith(v.mem, func() { a, err = v.mods.ThreadSymbol(tp, name, file) })
	return a, err
}

// threadPointer returns the thread pointer of an existing thread, by either kind of identifier.
func (v *view) threadPointer(t callbacks.ThreadID) (uint64, error) {
	all, err := v.separate()
	if err != nil {
		return 0, err
	}
	switch t.Kind {
	case callbacks.ThreadIDLWP:
		one := all.find(t.Value)
		if one == nil {
			return 0, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
		}
		return one.regs.ThreadPointer, nil
	case callbacks.ThreadIDPthread:
		tp, err := v.mods.ThreadPointer(t.Value)
		if err != nil {
			return 0, err
		}
		if !slices.ContainsFunc(all.threads, func(t thread) bool { return t.regs.ThreadPointer == tp }) {
			return 0, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
		}
		return tp, nil
	}
	return 0, fmt.Errorf("%v: %w", t, callbacks.ErrUnsupportedKind)
}

func (v *view) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	all, err := v.separate()
	if err != nil {
		return nil, err
	}
	list := make([]callbacks.ThreadID, len(all.threads))
	for i, t := range all.threads {
		switch kind {
		case callbacks.ThreadIDLWP:
			list[i] = callbacks.LWP(t.lwp)
		case callbacks.ThreadIDPthread:
			id, err := v.mods.Pthread(t.regs.ThreadPointer)
			if err != nil {
				return nil, err
			}
			list[i] = callbacks.Pthread(id)
		default:
			return nil, fmt.Errorf("%v: %w", kind, callbacks.ErrUnsupportedKind)
		}
	}
	return list, nil
}

func (v *view) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	if t.Kind != callbacks.ThreadIDLWP {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", t, callbacks.ErrUnsupportedKind)
	}
	all, err := v.separate()
	if err != nil {
		return callbacks.Registers{}, err
	}
	one := all.find(t.Value)
	if one == nil {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", t, callbacks.ErrNoThread)
	}
	if one.err != nil {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", t, one.err)
	}
	return one.regs, nil
}

// VectorRegisters returns the floating-point and vector registers of a thread, which must be of
// kind LWP. Each stop after the first call copies them.
func (v *view) VectorRegisters(t callbacks.ThreadID) ([]byte, error) {
	copied := v.p.vectors.Swap(true)
	if _, err := v.Registers(t); err != nil {
		return nil, err
	}
	all, err := v.separate()
	if err != nil {
		return nil, err
	}
	one := all.find(t.Value)
	if one.vectors != nil {
		return one.vectors, nil
	}
	v.lacksVectors = v.lacksVectors || !copied && one.regs.Syscall < 0
	return nil, fmt.Errorf("vector registers of %v: %w", t, ErrRunning)
}

// swappableMemory is the memory through which the modules' table reads: the running process, or a
// view while that looks up a thread-local variable.
type swappableMemory struct {
	asking sync.Mutex // held during a view's lookup
	mu     sync.Mutex
	now    callbacks.Memory
}

// ReadMemory fills p from address a.
func (l *swappableMemory) ReadMemory(a callbacks.Address, p []byte) error {
	l.mu.Lock()
	mem := l.now
	l.mu.Unlock()
	return mem.ReadMemory(a, p)
}

// runWith runs f with all reads from mem.
func (l *swappableMemory) runWith(mem callbacks.Memory, f func()) {
	l.asking.Lock()
	defer l.asking.Unlock()
	defer l.swap(l.swap(mem))
	f()
}

// swap changes the memory and returns the previous one.
func (l *swappableMemory) swap(mem callbacks.Memory) callbacks.Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.now
	l.now = mem
	return old
}
