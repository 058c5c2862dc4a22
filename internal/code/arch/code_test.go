package arch_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// flagSets are the compiler options that change the forms of calls and stubs.
var flagSets = map[string][]string{
	"O0":       {"-O0"},
	"O1":       {"-O1"},
	"O2":       {"-O2"},
	"O3":       {"-O3", "-fomit-frame-pointer", "-mavx2"},
	"Os":       {"-Os"},
	"no-plt":   {"-O2", "-fno-plt"},
	"cet":      {"-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"},
	"now":      {"-O2", "-Wl,-z,now"},
	"lazy":     {"-O2", "-Wl,-z,lazy"},
	"frame":    {"-O2", "-fno-omit-frame-pointer"},
	"symbolic": {"-O2", "-Wl,-Bsymbolic"},
}

func TestCode(t *testing.T) {
	for _, cc := range compilers(t) {
		for name, flags := range flagSets {
			t.Run(filepath.Base(cc)+"/"+name, func(t *testing.T) {
				p := build(t, cc, "args.c", append([]string{"-shared", "-fPIC"}, flags...)...)
				checkArgs(t, p, name)
			})
		}
	}
}

// value returns the value of an argument in a frame with rsp 0x1000 and rbp 0x2000.
func value(t *testing.T, p program, fn string, arg int) (uint64, arch.Value) {
	t.Helper()
	rets := p.returns(t, fn)
	if len(rets) != 1 {
		t.Fatalf("%s: %d calls of use, want 1", fn, len(rets))
	}
	v, ok := arch.ArgBefore(callbacks.ArchX86_64, p.mem, p.syms[fn].Value, rets[0], arg)
	if !ok {
		t.Fatalf("%s: argument %d not known", fn, arg)
	}
	r := callbacks.Registers{Arch: callbacks.ArchX86_64}
	r.SetSP(0x1000)
	r.Set(callbacks.X86RBP, 0x2000)
	if v.Kind == arch.ValueMemory || v.Kind == arch.ValueFrameSlot || v.Kind == arch.ValueRegister {
		return 0, v // the memory is not available: the program does not run
	}
	n, err := v.Resolve(&r, p.mem)
	if err != nil {
		t.Fatalf("%s: %v", fn, err)
	}
	return n, v
}

func checkArgs(t *testing.T, p program, flags string) {
	lock := p.syms["lock"].Value
	for _, c := range []struct {
		fn   string
		arg  int
		want uint64
	}{
		{"constant", 0, 4711}, {"constant", 1, 42}, {"null", 0, 0}, {"null", 1, 0}, {"null", 2, 0},
		{"address", 0, lock}, {"address", 1, 7}, {"address", 2, 9}, {"local", 1, 1}, {"local", 2, 2},
	} {
		if n, _ := value(t, p, c.fn, c.arg); n != c.want {
			t.Errorf("%s: argument %d is %#x, want %#x", c.fn, c.arg, n, c.want)
		}
	}
	if n, v := value(t, p, "constant", 2); int32(n) != -1 || v.Kind != arch.ValueConst {
		t.Errorf("third argument of constant is %#x (%+v)", n, v)
	}
	if _, v := value(t, p, "global", 0); v.Kind != arch.ValueMemory || v.N != p.got["elsewhere"] {
		t.Errorf("argument of global is %+v, want memory at %#x", v, p.got["elsewhere"])
	}
	if n, v := value(t, p, "local", 0); v.Kind != arch.ValueRegister &&
		(v.Kind != arch.ValueFrameAddress || n < 0xf00 || n > 0x2000) {
		t.Errorf("argument of local is %#x (%+v), want an address in the frame", n, v)
	}
	if flags == "no-plt" { // clang keeps the function's address in a register there
	} else if _, v := value(t, p, "again", 0); v.Kind != arch.ValueRegister && v.Kind != arch.ValueFrameSlot {
		t.Errorf("argument of again is %+v, want a saved register or a slot", v)
	}
	for _, fn := range []string{"merged", "unknown"} {
		for _, ret := range p.returns(t, fn) {
			v, ok := arch.ArgBefore(callbacks.ArchX86_64, p.mem, p.syms[fn].Value, ret, 0)
			if ok && v.Kind != arch.ValueFrameSlot { // -O0 spills it
				t.Errorf("argument of %s is %+v, want not known", fn, v)
			}
		}
	}
}

// TestArgsBefore compares the values of walks from many addresses with those of one walk each, also where the
// first addresses are unmapped.
func TestArgsBefore(t *testing.T) {
	p := build(t, compilers(t)[0], "args.c", "-shared", "-fPIC", "-O2")
	const before, mapped, after, page = 300, 150, 200, 0x10000
	compared := 0
	compare := func(mem callbacks.Memory, ret uint64) {
		var want, got []arch.Value
		for low := ret - before; low < ret; low++ {
			if v, ok := arch.ArgBefore(callbacks.ArchX86_64, mem, low, ret, 0); ok && !slices.Contains(want, v) {
				want = append(want, v)
			}
		}
		for v := range arch.ArgsBefore(callbacks.ArchX86_64, mem, ret-before, ret, 0) {
			if !slices.Contains(got, v) {
				got = append(got, v)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("before %#x: %+v, want %+v", ret, got, want)
		}
		compared += len(want)
	}
	for fn := range p.syms {
		for _, ret := range p.returns(t, fn) {
			compare(p.mem, ret)
			code := make([]byte, 4096)
			if p.mem.ReadMemory(callbacks.Addr(ret-mapped), code[:mapped+after]) == nil {
				compare(bytesAt{page, code}, page+mapped)
			}
		}
	}
	if compared < 10 {
		t.Errorf("%d values were compared", compared)
	}
}

func TestFarAway(t *testing.T) {
	p := build(t, compilers(t)[0], "args.c", "-shared", "-fPIC", "-O2")
	fn := p.syms["constant"].Value
	for _, ret := range []uint64{0, 1, 7, fn, fn + 1, ^uint64(0), 1 << 47} {
		if _, ok := arch.ArgBefore(callbacks.ArchX86_64, p.mem, 0, ret, 0); ok {
			t.Errorf("an argument before %#x", ret)
		}
	}
	if c, ok := arch.CallBefore(callbacks.ArchX86_64, p.mem, 1<<47); ok {
		t.Errorf("a call in unmapped memory: %+v", c)
	}
	if s, ok := arch.PLTSlot(callbacks.ArchX86_64, p.mem, fn); ok {
		t.Errorf("a function is taken for a PLT stub of slot %#x", s)
	}
}
