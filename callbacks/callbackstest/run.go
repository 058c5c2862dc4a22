package callbackstest

import (
	"bytes"
	"errors"
	"path"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Known is the caller's knowledge of its target. Empty fields skip the checks that need them.
type Known struct {
	// Symbol is a global symbol with a readable address.
	Symbol string
	// ThreadSymbol is a thread-local symbol with an instance in every thread.
	ThreadSymbol string
	// Unmapped is an address that the target has not mapped. Address 0 is checked in any case.
	Unmapped callbacks.Address
}

// noName is a symbol that no program defines.
const noName = "ompd_inspect_no_such_symbol"

// probe is the length of the reads that are compared.
const probe = 512

// Run checks the laws that the interfaces of package callbacks state.
func Run(t *testing.T, target callbacks.Target, k Known) {
	t.Run("memory", func(t *testing.T) { checkFaults(t, target, k) })
	t.Run("symbols", func(t *testing.T) { checkSymbols(t, target, k) })
	t.Run("threads", func(t *testing.T) { checkThreads(t, target, k) })
	if r, ok := target.(callbacks.RegisterReader); ok {
		t.Run("registers", func(t *testing.T) { checkRegisters(t, target, r) })
	}
	if m, ok := target.(callbacks.MappingLister); ok {
		t.Run("mappings", func(t *testing.T) { checkMappings(t, target, m.Mappings()) })
	}
	if m, ok := target.(callbacks.ModuleLister); ok {
		t.Run("modules", func(t *testing.T) { checkModules(t, target, m, k) })
	}
	if target.Arch() == callbacks.ArchUnknown {
		t.Error("the architecture is unknown")
	}
}

// checkFaults reads unmapped memory.
func checkFaults(t *testing.T, m callbacks.Memory, k Known) {
	for _, a := range []callbacks.Address{callbacks.Addr(0), k.Unmapped, callbacks.Addr(^uint64(0)),
		{Segment: 7, Offset: 64}} {
		if err := m.ReadMemory(a, nil); err != nil {
			t.Errorf("an empty read at %v: %v", a, err)
		}
		for _, n := range []int{1, 8, 5000} {
			if err := m.ReadMemory(a, make([]byte, n)); faultOf(t, err) != a || !errors.Is(err, callbacks.ErrUnmapped) {
				t.Errorf("read of %d at %v: %v, want a fault there that is ErrUnmapped", n, a, err)
			}
		}
	}
	if k.Unmapped.IsNull() {
		return
	}
	// A huge read must return a fault before it exhausts the machine's memory.
	if err := m.ReadMemory(k.Unmapped, make([]byte, 64<<20)); faultOf(t, err) != k.Unmapped {
		t.Errorf("a huge read: %v", err)
	}
}

// faultOf returns the address of the fault that err must wrap, or an address that no test expects.
func faultOf(t *testing.T, err error) callbacks.Address {
	t.Helper()
	var f *callbacks.FaultError
	if !errors.As(err, &f) {
		t.Errorf("%v does not wrap a *FaultError", err)
		return callbacks.Address{Segment: 1 << 63}
	}
	if f.Err == nil {
		t.Errorf("the fault at %v has no cause", f.Address)
	}
	return f.Address
}

// checkMappings checks their order and reads at the edges of each.
func checkMappings(t *testing.T, mem callbacks.Memory, list []callbacks.Mapping) {
	if len(list) == 0 {
		t.Fatal("no mappings")
	}
	readable := 0
	for i, m := range list {
		if m.Low.Offset >= m.High.Offset || i > 0 && m.Low.Offset < list[i-1].High.Offset {
			t.Fatalf("mapping %v-%v is empty or not after the one before", m.Low, m.High)
		}
		n := min(probe, m.High.Sub(m.Low))
		for _, a := range []callbacks.Address{m.Low, m.High.Add(-n)} {
			if mem.ReadMemory(a, make([]byte, n)) == nil {
				readable++
				checkPieces(t, mem, a, int(n))
			}
		}
		hole := i == len(list)-1 || list[i+1].Low.Offset > m.High.Offset
		if last := m.High.Add(^uint64(0)); hole && m.High.Offset != 0 && mem.ReadMemory(last, make([]byte, 1)) == nil {
			if err := mem.ReadMemory(last, make([]byte, 2)); faultOf(t, err) != m.High ||
				!errors.Is(err, callbacks.ErrUnmapped) {
				t.Errorf("read over the end of a mapping: %v, want ErrUnmapped at %v", err, m.High)
			}
		}
	}
	if readable == 0 {
		t.Error("nothing can be read")
	}
}

// checkLent compares lent bytes with the bytes read into b.
func checkLent(t *testing.T, mem callbacks.Memory, a callbacks.Address, b []byte) {
	l, ok := mem.(callbacks.Lender)
	if !ok || mem.ReadMemory(a, b) != nil {
		return
	}
	for _, n := range []int{1, 8, len(b)} {
		if lent := l.Lend(a, uint64(n)); lent != nil && !bytes.Equal(lent, b[:n]) {
			t.Errorf("%d bytes lent at %v are not those that are read", n, a)
		}
	}
	if lent := l.Lend(a, 1); lent == nil {
		t.Errorf("the byte at %v is not lent, but can be read", a)
	}
}

// checkPieces compares one read with byte-wise reads, and with concurrent reads.
func checkPieces(t *testing.T, mem callbacks.Memory, a callbacks.Address, n int) {
	whole := make([]byte, n)
	checkLent(t, mem, a, whole)
	if err := mem.ReadMemory(a, whole); err != nil {
		t.Errorf("read of %d at %v: %v", n, a, err)
		return
	}
	var wg sync.WaitGroup
	for _, step := range []int{1, 7, n} {
		wg.Go(func() {
			for at := 0; at < n; at += step {
				part := make([]byte, min(step, n-at))
				if err := mem.ReadMemory(a.Add(uint64(at)), part); err != nil ||
					!bytes.Equal(part, whole[at:at+len(part)]) {
					t.Errorf("read of %d at %v differs from the same bytes in one read (%v)", len(part),
						a.Add(uint64(at)), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// checkSymbols looks up existing and missing symbols.
func checkSymbols(t *testing.T, target callbacks.Target, k Known) {
	for _, file := range []string{"", "libc.so.6", "no such file"} {
		if a, err := target.Symbol(noName, file); !errors.Is(err, callbacks.ErrNoSymbol) {
			t.Errorf("Symbol of an unknown name in %q: %v, %v; want ErrNoSymbol", file, a, err)
		}
	}
	if k.Symbol == "" {
		return
	}
	a, err := target.Symbol(k.Symbol, "")
	if err != nil || a.IsNull() {
		t.Fatalf("Symbol(%s): %v, %v", k.Symbol, a, err)
	}
	if err := target.ReadMemory(a, make([]byte, 1)); err != nil {
		t.Errorf("memory of %s: %v", k.Symbol, err)
	}
	if b, err := target.Symbol(k.Symbol, "no such file"); !errors.Is(err, callbacks.ErrNoSymbol) {
		t.Errorf("Symbol in a file that is not there: %v, %v; want ErrNoSymbol", b, err)
	}
}

// checkThreads compares the lists of both kinds of identifier.
func checkThreads(t *testing.T, target callbacks.Target, k Known) {
	lwps, err := target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Fatalf("threads by LWP: %v", err)
	}
	pthreads, err := target.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Fatalf("threads by pthread_t: %v", err)
	}
	if len(lwps)+len(pthreads) == 0 {
		t.Fatal("no threads")
	}
	if len(lwps) > 0 && len(pthreads) > 0 && len(lwps) != len(pthreads) {
		t.Errorf("%d threads by LWP, %d by pthread_t", len(lwps), len(pthreads))
	}
	if _, err := target.ThreadIDs(4711); !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Errorf("threads of an unknown kind: %v, want ErrUnsupportedKind", err)
	}
	seen := map[callbacks.ThreadID]bool{}
	for _, id := range lwps {
		if id.Kind != callbacks.ThreadIDLWP || seen[id] {
			t.Errorf("%v is of another kind or twice in the list", id)
		}
		seen[id] = true
	}
	checkThreadSymbols(t, target, k, lwps, pthreads)
}

// checkThreadSymbols checks that each thread has an instance of its own, the same by both identifiers.
func checkThreadSymbols(t *testing.T, target callbacks.Target, k Known, lwps, pthreads []callbacks.ThreadID) {
	instances := map[callbacks.Address]callbacks.ThreadID{}
	for i, id := range append(lwps[:len(lwps):len(lwps)], pthreads...) {
		if a, err := target.ThreadSymbol(id, noName, ""); !errors.Is(err, callbacks.ErrNoSymbol) {
			t.Errorf("ThreadSymbol of an unknown name: %v, %v; want ErrNoSymbol", a, err)
		}
		if k.ThreadSymbol == "" {
			continue
		}
		a, err := target.ThreadSymbol(id, k.ThreadSymbol, "")
		if err == nil {
			err = target.ReadMemory(a, make([]byte, 1))
		}
		if err != nil {
			t.Errorf("%s of %v: %v", k.ThreadSymbol, id, err)
		}
		if other, twice := instances[a]; i < len(lwps) && twice {
			t.Errorf("%v and %v share their %s", id, other, k.ThreadSymbol)
		} else if i >= len(lwps) && len(lwps) > 0 && other != lwps[i-len(lwps)] {
			t.Errorf("%v has the %s of %v, but is %v", id, k.ThreadSymbol, other, lwps[i-len(lwps)])
		}
		if i < len(lwps) {
			instances[a] = id
		}
	}
	if k.ThreadSymbol == "" {
		return
	}
	if a, err := target.ThreadSymbol(callbacks.LWP(1<<40), k.ThreadSymbol, ""); err == nil {
		t.Errorf("ThreadSymbol of a thread that does not exist: %v", a)
	}
}

// checkRegisters reads the registers of each thread and of a missing thread.
func checkRegisters(t *testing.T, target callbacks.Target, r callbacks.RegisterReader) {
	lwps, err := target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatalf("a target with registers lists its threads by LWP: %v", err)
	}
	for _, id := range lwps {
		regs, err := r.Registers(id)
		if err != nil || regs.Arch != target.Arch() {
			t.Errorf("registers of %v: architecture %v, %v", id, regs.Arch, err)
		}
	}
	if _, err := r.Registers(callbacks.LWP(1 << 40)); !errors.Is(err, callbacks.ErrNoThread) {
		t.Errorf("registers of a thread that does not exist: %v, want ErrNoThread", err)
	}
}

// checkModules checks the modules' order, and that a module without a file has the reason in Err.
func checkModules(t *testing.T, target callbacks.Target, l callbacks.ModuleLister, k Known) {
	list, err := l.Modules()
	failed := false
	for i, m := range list {
		if m.Main != (i == 0) {
			t.Errorf("module %d, %s: Main is %v", i, m.Path, m.Main)
		}
		if m.Image == nil && m.Err == nil {
			t.Errorf("%s has no image, and no error that says why", m.Path)
		}
		failed = failed || m.Err != nil
		if m.Image != nil && m.Low.Offset >= m.High.Offset {
			t.Errorf("%s lies at %v-%v", m.Path, m.Low, m.High)
		}
	}
	if failed && err == nil {
		t.Error("a module has an error that Modules does not return")
	}
	a, err := target.Symbol(k.Symbol, "")
	if err != nil {
		return
	}
	for _, m := range list {
		if !m.Contains(a) {
			continue
		}
		for _, file := range []string{m.Path, path.Base(m.Path)} {
			if b, err := target.Symbol(k.Symbol, file); b != a {
				t.Errorf("Symbol(%s, %s) = %v, %v; want %v", k.Symbol, file, b, err, a)
			}
		}
	}
}
