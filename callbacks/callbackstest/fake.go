// Package callbackstest implements a target made of bytes, for tests that need no real program, and the
// conformance kit that every target passes.
package callbackstest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Fake is a target made of bytes, symbols and threads. It is filled before it is used: its methods that change
// it must not run concurrently with others.
type Fake struct {
	arch    callbacks.Arch
	blocks  []block // ascending, without overlap
	symbols []symbol
	threads []fakeThread
	modules []*callbacks.Module
}

type block struct {
	low uint64
	b   []byte
}

type symbol struct {
	name, file string
	thread     callbacks.ThreadID // zero for a global symbol
	tls        bool
	address    callbacks.Address
}

type fakeThread struct {
	lwp, pthread uint64
	regs         callbacks.Registers
}

var (
	_ callbacks.Target         = (*Fake)(nil)
	_ callbacks.RegisterReader = (*Fake)(nil)
	_ callbacks.ModuleLister   = (*Fake)(nil)
	_ callbacks.MappingLister  = (*Fake)(nil)
)

// NewFake returns an empty target of that architecture.
func NewFake(a callbacks.Arch) *Fake { return &Fake{arch: a} }

// Map adds memory to the target: b at address a. The fake keeps b itself. It replaces existing memory where they
// overlap.
func (f *Fake) Map(a callbacks.Address, b []byte) {
	if len(b) == 0 {
		return
	}
	low, high := a.Offset, a.Offset+uint64(len(b))
	var out []block
	for _, o := range f.blocks {
		end := o.low + uint64(len(o.b))
		if end <= low || o.low >= high {
			out = append(out, o)
			continue
		}
		if o.low < low {
			out = append(out, block{o.low, o.b[:low-o.low]})
		}
		if end > high {
			out = append(out, block{high, o.b[high-o.low:]})
		}
	}
	f.blocks = append(out, block{low, b})
	slices.SortFunc(f.blocks, func(a, b block) int { return cmp.Compare(a.low, b.low) })
}

// Put writes values at address a, each as an integer of size bytes (1, 2, 4 or 8). It reports the first byte
// that is not mapped.
func (f *Fake) Put(a callbacks.Address, size int, values ...uint64) error {
	for _, v := range values {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], v)
		for i := range size {
			at := a.Add(uint64(i))
			b := f.bytesAt(at.Offset)
			if b == nil {
				return &callbacks.FaultError{Address: at, Err: callbacks.ErrUnmapped}
			}
			b[0] = w[i]
		}
		a = a.Add(uint64(size))
	}
	return nil
}

// Define adds a global symbol to the target. file is the path of its module.
func (f *Fake) Define(name, file string, a callbacks.Address) {
	f.symbols = append(f.symbols, symbol{name: name, file: file, address: a})
}

// DefineThread adds thread t's instance of a thread-local symbol. For the other threads the symbol is then
// known, but not allocated.
func (f *Fake) DefineThread(t callbacks.ThreadID, name, file string, a callbacks.Address) {
	f.symbols = append(f.symbols, symbol{name: name, file: file, address: a, thread: t, tls: true})
}

// AddThread adds a thread to the target. Its registers are unknown until SetRegisters.
func (f *Fake) AddThread(lwp, pthread uint64) {
	regs := callbacks.Registers{Arch: f.arch, ThreadPointer: pthread, Syscall: -1}
	f.threads = append(f.threads, fakeThread{lwp, pthread, regs})
}

// SetRegisters sets the registers of thread lwp; the architecture is the target's.
func (f *Fake) SetRegisters(lwp uint64, r callbacks.Registers) {
	for i := range f.threads {
		if f.threads[i].lwp == lwp {
			r.Arch = f.arch
			f.threads[i].regs = r
		}
	}
}

// AddModule adds a module to the target, in link order.
func (f *Fake) AddModule(m *callbacks.Module) { f.modules = append(f.modules, m) }

// Arch returns the architecture passed to NewFake.
func (f *Fake) Arch() callbacks.Arch { return f.arch }

// bytesAt returns the bytes from address a to the end of its block, or nil.
func (f *Fake) bytesAt(a uint64) []byte {
	i, found := slices.BinarySearchFunc(f.blocks, a, func(b block, a uint64) int { return cmp.Compare(b.low, a) })
	if !found {
		i--
	}
	if i < 0 || a-f.blocks[i].low >= uint64(len(f.blocks[i].b)) {
		return nil
	}
	return f.blocks[i].b[a-f.blocks[i].low:]
}

// ReadMemory fills p from address a.
func (f *Fake) ReadMemory(a callbacks.Address, p []byte) error {
	for len(p) > 0 {
		b := f.bytesAt(a.Offset)
		if b == nil || a.Segment != 0 {
			return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
		}
		n := copy(p, b)
		a, p = a.Add(uint64(n)), p[n:]
	}
	return nil
}

// Symbol returns the address of a symbol from Define.
func (f *Fake) Symbol(name, file string) (callbacks.Address, error) {
	for _, s := range f.symbols {
		if s.name == name && !s.tls && s.isIn(file) {
			return s.address, nil
		}
	}
	return callbacks.Address{}, fmt.Errorf("%w: %s", callbacks.ErrNoSymbol, name)
}

// ThreadSymbol returns the address of an instance from DefineThread. Both kinds of identifier are accepted.
func (f *Fake) ThreadSymbol(t callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	known := false
	for _, s := range f.symbols {
		if s.name == name && s.tls && s.isIn(file) {
			known = true
			if f.same(s.thread, t) {
				return s.address, nil
			}
		}
	}
	switch {
	case !known:
		return callbacks.Address{}, fmt.Errorf("%w: %s", callbacks.ErrNoSymbol, name)
	case f.find(t) == nil:
		return callbacks.Address{}, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
	}
	return callbacks.Address{}, fmt.Errorf("%s of %v: %w", name, t, callbacks.ErrNoThreadStorage)
}

// isIn reports whether the symbol is defined in the given module.
func (s *symbol) isIn(file string) bool {
	return file == "" || file == s.file || file == path.Base(s.file)
}

// same reports whether two identifiers identify one thread.
func (f *Fake) same(a, b callbacks.ThreadID) bool {
	t := f.find(a)
	return t != nil && t == f.find(b)
}

// find returns the thread with that identifier, or nil.
func (f *Fake) find(id callbacks.ThreadID) *fakeThread {
	for i := range f.threads {
		t := &f.threads[i]
		if id == callbacks.LWP(t.lwp) || id == callbacks.Pthread(t.pthread) {
			return t
		}
	}
	return nil
}

// ThreadIDs lists the threads in the order of AddThread.
func (f *Fake) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	list := make([]callbacks.ThreadID, len(f.threads))
	for i, t := range f.threads {
		switch kind {
		case callbacks.ThreadIDLWP:
			list[i] = callbacks.LWP(t.lwp)
		case callbacks.ThreadIDPthread:
			list[i] = callbacks.Pthread(t.pthread)
		default:
			return nil, fmt.Errorf("%v: %w", kind, callbacks.ErrUnsupportedKind)
		}
	}
	return list, nil
}

// Registers returns the thread's registers from SetRegisters.
func (f *Fake) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	if t.Kind != callbacks.ThreadIDLWP {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", t, callbacks.ErrUnsupportedKind)
	}
	th := f.find(t)
	if th == nil {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", t, callbacks.ErrNoThread)
	}
	return th.regs, nil
}

// Modules returns the modules in the order of AddModule.
func (f *Fake) Modules() ([]*callbacks.Module, error) { return f.modules, nil }

// Mappings returns the blocks of memory, all readable and writable.
func (f *Fake) Mappings() []callbacks.Mapping {
	list := make([]callbacks.Mapping, len(f.blocks))
	for i, b := range f.blocks {
		low := callbacks.Addr(b.low)
		list[i] = callbacks.Mapping{Low: low, High: low.Add(uint64(len(b.b))),
			Perm: callbacks.PermRead | callbacks.PermWrite}
	}
	return list
}
