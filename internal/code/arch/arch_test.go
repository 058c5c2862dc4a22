package arch_test

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func userRegs(words map[int]uint64, n int) []byte {
	b := make([]byte, n*8)
	for i, v := range words {
		binary.LittleEndian.PutUint64(b[i*8:], v)
	}
	return b
}

func TestX86Registers(t *testing.T) {
	words := map[int]uint64{}
	for i := range 27 {
		words[i] = uint64(100 + i)
	}
	words[15] = 202 // orig_rax
	r, err := arch.FromUserRegs(callbacks.ArchX86_64, userRegs(words, 27))
	if err != nil {
		t.Fatal(err)
	}
	// The order of struct user_regs_struct in sys/user.h.
	want := map[int]uint64{
		0: 110, 1: 112, 2: 111, 3: 105, 4: 113, 5: 114, 6: 104, 7: 119, 8: 109, 9: 108, 10: 107, 11: 106,
		12: 103, 13: 102, 14: 101, 15: 100, 16: 116,
	}
	for n, v := range want {
		if got, ok := r.Get(n); !ok || got != v {
			t.Errorf("register %d = %d, %v; want %d", n, got, ok, v)
		}
	}
	if r.PC() != 116 || r.SP() != 119 || r.ThreadPointer != 121 || r.Syscall != 202 {
		t.Errorf("pc %d, sp %d, fs_base %d, syscall %d", r.PC(), r.SP(), r.ThreadPointer, r.Syscall)
	}
	if want := [6]uint64{114, 113, 112, 107, 109, 108}; r.SyscallArgs != want {
		t.Errorf("arguments %v, want %v", r.SyscallArgs, want)
	}
	if _, err := arch.FromUserRegs(callbacks.ArchX86_64, make([]byte, 215)); err == nil {
		t.Error("215 bytes were taken for user_regs_struct")
	}
	if _, err := arch.FromUserRegs(callbacks.ArchUnknown, make([]byte, 500)); err == nil {
		t.Error("an unknown architecture has registers")
	}
}

func TestARM64Registers(t *testing.T) {
	r, err := arch.FromUserRegs(callbacks.ArchAArch64, userRegs(map[int]uint64{0: 7, 30: 30, 31: 31, 32: 0x32, 33: 1},
		34))
	if err != nil {
		t.Fatal(err)
	}
	x0, _ := r.Get(0)
	lr, _ := r.Get(callbacks.AArch64LR)
	if x0 != 7 || lr != 30 || r.SP() != 31 || r.PC() != 0x32 || r.Syscall != -1 {
		t.Errorf("x0 %d, lr %d, sp %d, pc %#x, syscall %d", x0, lr, r.SP(), r.PC(), r.Syscall)
	}
}

func TestFutexWait(t *testing.T) {
	const private, realtime = 128, 256
	for _, c := range []struct {
		name   string
		call   int64
		op     uint64
		result int64
		want   bool
	}{
		{"wait", 202, 0 | private, -512, true},
		{"wait with time-out", 202, 9 | private | realtime, -516, true},
		{"interrupted", 202, 9, -4, true},
		{"pi mutex", 202, 6 | private, -513, true},
		{"wake", 202, 1 | private, -512, false},
		{"wake that is over", 202, 1 | private, 1, false},
		{"wake by condition variables of the older C library", 202, 5 | private, 1, false},
		{"wait that was woken", 202, 0 | private, 0, false},
		{"value differed", 202, 0 | private, -11, false},
		{"user code", -1, 0, -512, false},
		{"other call", 35, 0, -516, false},
	} {
		r, err := arch.FromUserRegs(callbacks.ArchX86_64, userRegs(map[int]uint64{
			15: uint64(c.call), 14: 0x1234, 13: c.op, 10: uint64(c.result)}, 27))
		if err != nil {
			t.Fatal(err)
		}
		word, ok := arch.IsFutexWait(&r)
		if ok != c.want || ok && word != callbacks.Addr(0x1234) {
			t.Errorf("%s: %v, %v; want %v", c.name, word, ok, c.want)
		}
		if wakes := arch.IsFutexWake(&r); wakes != strings.HasPrefix(c.name, "wake") {
			t.Errorf("%s: it wakes others: %v", c.name, wakes)
		}
	}
}

func TestSyscallName(t *testing.T) {
	for _, c := range []struct {
		a    callbacks.Arch
		n    int64
		want string
	}{
		{callbacks.ArchX86_64, 202, "futex"}, {callbacks.ArchX86_64, 24, "sched_yield"},
		{callbacks.ArchX86_64, 230, "clock_nanosleep"}, {callbacks.ArchX86_64, 999, "syscall 999"},
		{callbacks.ArchX86_64, -1, ""}, {callbacks.ArchAArch64, 98, "futex"},
	} {
		if got := arch.SyscallName(c.a, c.n); got != c.want {
			t.Errorf("%v %d: %q, want %q", c.a, c.n, got, c.want)
		}
	}
}

// image is the memory of a program that is not running: its load segments at their link addresses, in whole
// pages.
type image struct{ *elf.File }

func (m image) ReadMemory(a callbacks.Address, p []byte) error {
	for _, s := range m.Progs {
		if s.Type == elf.PT_LOAD && a.Offset >= s.Vaddr && a.Offset+uint64(len(p)) <= (s.Vaddr+s.Filesz+4095)&^4095 {
			clear(p)
			_, err := s.ReadAt(p, int64(a.Offset-s.Vaddr))
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
	return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
}

// program is a compiled C or assembly source.
type program struct {
	mem  image
	syms map[string]elf.Symbol
	got  map[string]uint64 // slot by symbol name
}

func compilers(t testing.TB) []string {
	omptest.Needs(t, "compilers")
	var found []string
	for _, c := range []string{"gcc", "clang", "clang-14", "clang-16", "clang-19"} {
		if p, err := exec.LookPath(c); err == nil {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatal("no C compiler found: install gcc or clang")
	}
	return found
}

func build(t testing.TB, cc, source string, flags ...string) program {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.so")
	args := append(append([]string{"-o", out}, flags...), filepath.Join("testdata", source))
	if msg, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", cc, args, err, msg)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p := program{image{f}, map[string]elf.Symbol{}, map[string]uint64{}}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		p.syms[s.Name] = s
	}
	dyn, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range []string{".rela.plt", ".rela.dyn"} {
		s := f.Section(sec)
		if s == nil {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(b) >= 24; b = b[24:] {
			if n := binary.LittleEndian.Uint32(b[12:]); n > 0 {
				p.got[dyn[n-1].Name] = binary.LittleEndian.Uint64(b)
			}
		}
	}
	return p
}

// returns lists the return address of each call of use in the function fn.
func (p program) returns(t testing.TB, fn string) []uint64 {
	t.Helper()
	s, ok := p.syms[fn]
	if !ok {
		t.Fatalf("no symbol %s", fn)
	}
	var rets []uint64
	for ret := s.Value + 2; ret < s.Value+s.Size; ret++ {
		c, ok := arch.CallBefore(callbacks.ArchX86_64, p.mem, ret)
		if !ok || c.Kind == arch.CallRegister {
			continue
		}
		slot := c.Target
		if c.Kind == arch.CallDirect {
			if slot, ok = arch.PLTSlot(callbacks.ArchX86_64, p.mem, c.Target); !ok {
				continue
			}
		}
		if slot == p.got["use"] {
			rets = append(rets, ret)
		}
	}
	return rets
}
