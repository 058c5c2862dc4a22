package spin

import (
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// awaited are the variables that the loops of testdata/loops.c wait for.
var awaited = map[string][]string{
	"flag": {"flag"}, "volatile": {"flag"}, "small": {"small"}, "wide": {"wide"}, "bits": {"turn"}, "less": {"turn"},
	"test_and_set": {"gate"}, "read_first": {"gate"}, "exchange": {"gate"}, "or": {"gate"}, "ticket": {"serving"},
	"call": {"flag"}, "deep": {"flag"}, "counting": {"flag"}, "switch": {"turn"}, "nested": {"flag"},
	"adding": {"flag"},
	"float":  {"share"}, "sum": {"level", "tenth", "limit"}, "product": {"level", "tenth", "limit"},
	"near": {"level", "limit"}, "not_number": {"none", "limit"}, "whole": {"level", "turn"},
	"single": {"share", "turn"},
	"either": {"flag"}, "both": {"flag", "gate"}, "three": {"flag", "gate"},
}

// firstSteps is the number of instructions of a loop that are executed; the thread is checked after each.
const firstSteps = 80

// TestCompiledLoops follows the loops of testdata/loops.c, as compilers translate them, from each of their first
// instructions: the loops that wait for a word spin on it, and the others do not spin.
func TestCompiledLoops(t *testing.T) {
	omptest.Needs(t, "compilers")
	for _, build := range []string{
		"gcc -O0", "gcc -O2", "clang-16 -O0", "clang-16 -O2",
		omptest.CrossCC + " -O0", omptest.CrossCC + " -O1", omptest.CrossCC + " -O2",
		omptest.CrossCC + " -O0 -mno-outline-atomics", omptest.CrossCC + " -O2 -mno-outline-atomics",
		omptest.CrossCC + " -O2 -march=armv8.1-a",
		omptest.CrossCC + " -Os -march=armv8.3-a -mbranch-protection=standard",
		"clang-16 --target=aarch64-linux-gnu -O0", "clang-16 --target=aarch64-linux-gnu -O1",
		"clang-16 --target=aarch64-linux-gnu -O2 -mno-outline-atomics",
		"clang-16 --target=aarch64-linux-gnu -O2 -march=armv8.3-a -mbranch-protection=standard",
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			link := "gcc"
			if strings.Contains(build, "aarch64") {
				omptest.NeedsCross(t)
				link = omptest.CrossCC
			}
			exe := filepath.Join(t.TempDir(), "loops")
			command(t, append(strings.Fields(build), "-fno-pie", "-c", "-o", exe+".o", "testdata/loops.c")...)
			command(t, link, "-static", "-no-pie", "-o", exe, exe+".o")
			for _, atomics := range []byte{0, 1} {
				lookAtLoops(t, exe, atomics)
			}
		})
	}
}

func command(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// lookAtLoops looks at the loops of an executable. atomics is 1 if the processor has instructions for atomic operations
// that need no loop, for programs that ask at run time.
func lookAtLoops(t *testing.T, exe string, atomics byte) {
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	target := map[elf.Machine]callbacks.Arch{elf.EM_X86_64: callbacks.ArchX86_64,
		elf.EM_AARCH64: callbacks.ArchAArch64}[f.Machine]
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	address := map[string]uint64{}
	for _, s := range symbols {
		address[s.Name] = s.Value
	}
	mem, constants := callbackstest.NewFake(target), []*elf.Prog{}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Flags&elf.PF_W == 0 {
			constants = append(constants, p)
		}
		b := make([]byte, p.Memsz)
		if _, err := p.ReadAt(b[:p.Filesz], 0); err != nil {
			t.Fatal(err)
		}
		if at := address["__aarch64_have_lse_atomics"]; at >= p.Vaddr && at < p.Vaddr+p.Memsz {
			b[at-p.Vaddr] = atomics
		}
		mem.Map(callbacks.Addr(p.Vaddr), b)
	}
	d, err := lift.NewDecoder(target, mem)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, stackSize)
	binary.LittleEndian.PutUint64(memory[stackSize/2:], address["after"])
	mem.Map(callbacks.Addr(stackLow), memory)
	no := func(string) bool { return false }
	cfg := &Config{Code: d, Mem: mem, Name: func(uint64) string { return "" }, Passes: no, Pure: no,
		Own: func(addr uint64) bool { return addr-stackLow < stackSize },
		Constant: func(addr uint64) bool {
			return slices.ContainsFunc(constants, func(p *elf.Prog) bool { return addr-p.Vaddr < p.Memsz })
		}}
	var found int
	for name, entry := range address {
		if what, spins := strings.CutPrefix(name, "spins_"); spins {
			found++
			words := addressesOf(awaited[what], address)
			lookAtLoop(t, name, cfg, loop{entry: entry, back: address["after"], words: words})
		} else if strings.HasPrefix(name, "leaves_") {
			found++
			lookAtLoop(t, name, cfg, loop{entry: entry, back: address["after"]})
		} else if strings.HasPrefix(name, "enters_") {
			found++
			lookAtLoop(t, name, cfg, loop{entry: entry, back: address["after"], end: address["enter"]})
		}
	}
	if found < len(awaited)+22 {
		t.Errorf("%d loops", found)
	}
}

func addressesOf(names []string, address map[string]uint64) (out []uint64) {
	for _, name := range names {
		out = append(out, address[name])
	}
	slices.Sort(out)
	return out
}

// The stack of the loops.
const stackLow, stackSize = 0x7000_0000, 1 << 14

// loop is a function with a loop. It returns to back. If end is not 0, it is followed up to a call of the function
// there. Its thread waits for words, or for none.
type loop struct {
	entry, back, end uint64
	words            []uint64
}

// lookAtLoop follows a function, and requires that its thread waits for the words. It may have to write its own memory
// before it waits.
func lookAtLoop(t *testing.T, name string, cfg *Config, l loop) {
	regs := callbacks.Registers{Arch: cfg.Code.Arch, ThreadPointer: 0x9000, Syscall: -1}
	regs.SetPC(l.entry)
	regs.SetSP(stackLow + stackSize/2)
	e := newExplorer(cfg, false)
	m := e.newMachine(&regs)
	m.Regs[m.ABI.Link] = emulate.Number(l.back)
	m.Rounding = &emulate.Rounding{Mode: lift.RoundNearest}
	waited := false
	for step := range firstSteps {
		look := callbacks.Registers{Arch: cfg.Code.Arch, ThreadPointer: 0x9000, Syscall: -1, Flags: flagsOf(m)}
		for r := range m.ABI.General {
			if v := m.Regs[r]; v.Known != 0 { // the result of an exclusive store that has stored is 0
				look.Set(m.ABI.DWARFNumber(r), v.V)
			}
		}
		look.SetPC(m.PC)
		with := *cfg
		with.Mem, with.Vectors = written{cfg.Mem, m.Written}, vectorsOf(m)
		found := Find(&with, &look)
		var got []uint64
		if found != nil {
			for _, w := range found.Words {
				got = append(got, w.Address)
			}
			slices.Sort(got)
		}
		switch {
		case found == nil && len(l.words) > 0 && !waited && step < firstSteps/2:
		case slices.Equal(got, l.words):
			waited = true
		default:
			t.Errorf("%s: after %d instructions, at %#x: %+v, want %#x", name, step, m.PC, found, l.words)
			return
		}
		if m.PC == l.end {
			return
		}
		if err := m.Step(cfg.Code, m); err != nil || m.depth < 0 {
			if l.words != nil {
				t.Errorf("%s: at %#x: %v", name, m.At, err)
			}
			return
		}
		if len(e.queue) > 0 { // it is unknown whether an exclusive store has stored: it has
			m, e.queue = e.queue[0], nil
		}
	}
}

// vectorsOf returns a machine's vector registers as for Config.Vectors.
func vectorsOf(m *machine) func() []byte {
	b := make([]byte, m.ABI.VectorsAt+16*int(m.ABI.VectorCount))
	for r := range m.ABI.VectorCount {
		binary.LittleEndian.PutUint64(b[m.ABI.VectorsAt+16*int(r):], m.Vector(r).V)
	}
	return func() []byte { return b }
}

// written is the memory of a thread with its writes.
type written struct {
	callbacks.Memory
	bytes map[uint64]emulate.Byte
}

func (w written) ReadMemory(a callbacks.Address, p []byte) error {
	err := w.Memory.ReadMemory(a, p)
	for i := range p {
		if b, ok := w.bytes[a.Offset+uint64(i)]; ok {
			p[i] = b.V
		}
	}
	return err
}

// flagsOf returns a machine's flags as in a thread's registers; 0 if they are unknown.
func flagsOf(m *machine) uint64 {
	var flags uint64
	noCarry := lift.Condition{Op: lift.UGE}
	if m.Flags.Kind == lift.FlagsBit {
		noCarry = lift.Condition{Op: lift.EQ, Bit: true}
	}
	for bit, c := range []lift.Condition{{Op: lift.LT, Sign: true}, {Op: lift.EQ}, noCarry, {Op: lift.LT}} {
		if test := m.Flags.Test(c); test.Known && test.Holds {
			flags |= 1 << bit
		}
	}
	negative, zero, carry, less := flags&1, flags>>1&1, flags>>2&1, flags>>3&1
	if m.Flags.Kind == lift.FlagsUnknown {
		return 0
	}
	overflow := negative ^ less
	if m.Instruction.Length == 4 && m.ABI.LinkBytes == 0 {
		return negative<<31 | zero<<30 | carry<<29 | overflow<<28 | 1<<63
	}
	return negative<<7 | zero<<6 | (carry ^ 1) | overflow<<11 | 1<<1
}
