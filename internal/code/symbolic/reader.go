package symbolic

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Reader decodes the code of a target and names the functions that it calls.
type Reader struct {
	*lift.Decoder
	Mem     callbacks.Memory
	ABI     *abi
	resolve func(addr uint64) (Target, bool)
	stubs   map[uint64]string
}

// NewReader reads code in mem. resolve names the function that begins at an address, or that
// the pointer there leads to; it may be nil.
func NewReader(arch callbacks.Arch, mem callbacks.Memory, resolve func(addr uint64) (Target, bool)) (*Reader, error) {
	d, err := lift.NewDecoder(arch, mem)
	if err != nil {
		return nil, err
	}
	return &Reader{
		Decoder: d, Mem: mem, ABI: newABI(d.Lifter.Convention()), resolve: resolve, stubs: map[uint64]string{},
	}, nil
}

// Retarget goes on with another moment of the same process, whose code is the same.
func (x *Reader) Retarget(mem callbacks.Memory, resolve func(addr uint64) (Target, bool)) {
	x.Mem, x.Code.Mem, x.resolve = mem, mem, resolve
}

// abi is a calling convention, and what registers have at a function's entry.
type abi struct {
	*lift.Convention
	entry [lift.NumRegisters]*Expr
}

// newABI fills in the registers at entry: arguments, the stack pointer, and values that are
// not followed.
func newABI(c *lift.Convention) *abi {
	a := &abi{Convention: c}
	for i := range a.entry {
		a.entry[i] = Leaf(KindUnknown, 0)
	}
	for i, r := range c.Args {
		a.entry[r] = Leaf(KindArg, uint64(i))
	}
	a.entry[c.SP] = Leaf(KindStack, 0)
	return a
}

// Target is what the address of a call or a jump leads to.
func (x *Reader) Target(to *Expr) Target {
	var t Target
	switch {
	case to.Kind == KindGlobal || to.Kind == KindConst:
		t.Entry = to.Val
	case to.Kind == KindLoad && to.A.Kind == KindGlobal:
		t.Slot = to.A.Val
	default:
		return t
	}
	if x.resolve == nil {
		return t
	}
	if r, ok := x.resolve(max(t.Entry, t.Slot)); ok {
		t.Name = r.Name
		if t.Entry == 0 {
			t.Entry = r.Entry
		}
	}
	return t
}

// Names reports whether one of some addresses is that of a function with one of some names, of a stub of it, or of a
// pointer to it.
func (x *Reader) Names(addrs []uint64, named func(name string) bool) bool {
	return slices.ContainsFunc(addrs, func(a uint64) bool {
		t := x.Target(Global(a))
		return t.Name != "" && named(t.Name) || t.Name == "" && named(x.Stub(t))
	})
}

// Stub returns the name that a direct call's target passes the call on to, if that
// is a jump through a pointer, as in a procedure linkage table; else "".
func (x *Reader) Stub(t Target) string {
	if t.Entry == 0 || t.Name != "" || x.resolve == nil {
		return t.Name
	}
	name, ok := x.stubs[t.Entry]
	if !ok {
		name = x.readStub(t.Entry)
		x.stubs[t.Entry] = name
	}
	return name
}

func (x *Reader) readStub(entry uint64) string {
	s := NewState(x.ABI, entry)
	for range 5 { // the mark of a branch target, an address in up to three steps, the jump
		in, ok := x.Fetch(s.PC)
		if !ok {
			return ""
		}
		for i := range in.Uops {
			u := &in.Uops[i]
			switch {
			case u.Code == lift.UopJump:
				return x.Target(s.Value(u.A)).Name
			case u.Leaves():
				return ""
			}
			s.Apply(u)
		}
		s.PC += uint64(in.Length)
	}
	return ""
}
