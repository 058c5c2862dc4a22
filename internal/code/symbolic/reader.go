package symbolic

import (
	"maps"
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

// NewReader returns a Reader of code in mem. resolve returns the function that starts at an address, or that the
// pointer there leads to; it may be nil.
func NewReader(arch callbacks.Arch, mem callbacks.Memory, resolve func(addr uint64) (Target, bool)) (*Reader, error) {
	d, err := lift.NewDecoder(arch, mem)
	if err != nil {
		return nil, err
	}
	return &Reader{
		Decoder: d, Mem: mem, ABI: newABI(d.Lifter.Convention()), resolve: resolve, stubs: map[uint64]string{},
	}, nil
}

// Retarget switches to another snapshot of the same process, with the same code. Code that was unreadable is read
// again.
func (x *Reader) Retarget(mem callbacks.Memory, resolve func(addr uint64) (Target, bool)) {
	x.Decoder.Retarget(mem)
	x.Mem, x.resolve = mem, resolve
	maps.DeleteFunc(x.stubs, func(_ uint64, name string) bool { return name == "" })
}

// abi is a calling convention with the contents of the registers at a function's entry.
type abi struct {
	*lift.Convention
	entry [lift.NumRegisters]*Expr
}

// newABI returns an abi: registers at entry are arguments, the stack pointer, and unknown values.
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

// Target returns the target of a call or a jump to an address.
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

// Names reports whether any of the addresses belongs to a function with a matching name, to a stub of it, or to
// a pointer to it.
func (x *Reader) Names(addrs []uint64, named func(name string) bool) bool {
	return slices.ContainsFunc(addrs, func(a uint64) bool {
		t := x.Target(Global(a))
		return t.Name != "" && named(t.Name) || t.Name == "" && named(x.Stub(t))
	})
}

// Stub returns the name of the function that a direct call reaches. If its target is a jump through a pointer,
// as in a procedure linkage table, it is the name of that function. It returns "" if the name is unknown.
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

// readStub reads a stub: a branch-target marker, an address in up to three steps, and the jump. In a retpoline, a
// return replaces that jump: the stub calls code, or jumps to a call of it, that overwrites its return address.
func (x *Reader) readStub(entry uint64) string {
	s := NewState(x.ABI, entry)
	var returns *Expr // the value that overwrote the return address
	called := false
	for range 6 {
		in, ok := x.Fetch(s.PC)
		if !ok {
			return ""
		}
		next := s.PC + uint64(in.Length)
		for i := range in.Uops {
			u := &in.Uops[i]
			switch {
			case (u.Code == lift.UopJump || u.Code == lift.UopCall) && !called:
				called = u.Code == lift.UopCall
				to := s.Value(u.A)
				if name := x.Target(to).Name; !called && name != "" {
					return name
				}
				if to.Kind != KindGlobal {
					return ""
				}
				next = to.Val
				continue
			case u.Code == lift.UopReturn && called && returns != nil:
				return x.Target(returns).Name
			case u.Leaves():
				return ""
			case u.Code == lift.UopStore && s.Value(u.A).Kind == KindStack && s.Value(u.A).Val == 0:
				returns = s.Value(u.B)
			}
			s.Apply(u)
		}
		s.PC = next
	}
	return ""
}
