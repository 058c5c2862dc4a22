package emulate_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// The memory of testdata/instructions.c, and the number of instructions that it reads at once.
const (
	memoryAt   = 0x10000000
	memorySize = 0x4000
	codeAt     = 0x02000000
	batch      = 256
	slot       = 16 // bytes
	inSlot     = 8  // offset of the instruction
)

// a64State is struct state of testdata/instructions.c.
type a64State struct {
	X             [31]uint64
	SP, NZCV      uint64
	Word          uint64
	Signal        uint64
	From, Changed uint64
	Bytes         [64]byte
	D             [32]uint64
}

// TestInstructionsAArch64 executes each different instruction of the C library, libm and both runtimes for aarch64 in
// an emulator, on several sets of registers. It compares registers, memory and conditions with those of a Machine.
// Branches and system instructions are left out: TestBranchesAArch64 has those.
func TestInstructionsAArch64(t *testing.T) {
	omptest.NeedsCross(t)
	words := instructionsAArch64(t)
	exe := filepath.Join(t.TempDir(), "instructions")
	out, err := exec.Command(omptest.CrossCC, "-O1", "-static", "-nostdlib", "-ffreestanding",
		"-fno-stack-protector", "-mgeneral-regs-only", "-o", exe, "testdata/instructions.c", "-lgcc").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	random := rand.New(rand.NewSource(1))
	var tests []a64State
	for _, w := range words {
		for range 4 {
			tests = append(tests, registersFor(random, w))
		}
	}
	for len(tests)%batch != 0 {
		tests = append(tests, a64State{Word: 0xd503201f}) // nop
	}
	var in bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, tests); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("qemu-aarch64", exe)
	cmd.Stdin = &in
	if out, err = cmd.Output(); err != nil {
		t.Fatal(err)
	}
	results := make([]a64State, len(tests))
	if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, results); err != nil {
		t.Fatal(err)
	}
	compareInstructions(t, tests, results)
}

// randomInstructions is the number of random instructions of each group: libraries lack many.
const randomInstructions = 2000

// instructionsAArch64 returns the different instructions of libraries, and random ones, without branches and system
// instructions.
func instructionsAArch64(t *testing.T) []uint32 {
	t.Helper()
	seen := map[uint32]bool{}
	for _, path := range omptest.CrossLibraries(t) {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		code, err := f.Section(".text").Data()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(code) >= 4; code = code[4:] {
			if w := binary.LittleEndian.Uint32(code); w>>26&7 != 0b101 {
				seen[w] = true
			}
		}
	}
	random := rand.New(rand.NewSource(2))
	for range randomInstructions {
		for _, group := range []uint32{0b0100, 0b0101, 0b0110, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110} {
			if w := random.Uint32()&^(15<<25) | group<<25; isPredictable(w) {
				seen[w] = true
			}
		}
		// Of the vector group only those with general registers: the emulator fails at some others.
		seen[random.Uint32()&0x80ffffff|0x1e000000] = true
	}
	words := make([]uint32, 0, len(seen))
	for w := range seen {
		words = append(words, w)
	}
	slices.Sort(words)
	return words
}

// isPredictable reports whether an instruction has one result on all processors, and with the registers of these tests:
// not if it accesses memory near the code, at unaligned addresses with order or with a signed pointer, or changes the
// base register or a register of a pair twice.
func isPredictable(w uint32) bool {
	rt, rn, rt2 := w&31, w>>5&31, w>>10&31
	switch {
	case !isMemoryAccess(w):
		return true
	case w&0x3b000000 == 0x18000000, w&0x3f200c00 == 0x19000000, w&0x3b200400 == 0x38200400:
		return false
	}
	return rt != rn && rt2 != rn && rt != rt2
}

// isMemoryAccess reports whether an instruction is in the group of loads and stores.
func isMemoryAccess(w uint32) bool { return w&0x0a000000 == 0x08000000 }

// corners are values that arithmetic treats specially.
var corners = []uint64{0, 1, ^uint64(0), 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 1 << 32, 0xffffffff, 31, 32, 63, 64}

// floatCorners are floating-point numbers that comparisons and conversions treat specially.
var floatCorners = []uint64{0, 1 << 63, math.Float64bits(1), math.Float64bits(-1), math.Float64bits(2.5),
	math.Float64bits(-1 << 31), math.Float64bits(1 << 40), math.Float64bits(math.Inf(1)),
	math.Float64bits(math.Inf(-1)),
	math.Float64bits(math.NaN()), 1, 1<<52 - 1}

// registersFor returns registers for an instruction: random ones, or, for an access to memory, addresses in it.
func registersFor(random *rand.Rand, w uint32) a64State {
	s := a64State{Word: uint64(w), NZCV: uint64(random.Intn(16)) << 28, SP: memoryAt + 0x2800}
	for i := range s.X {
		switch random.Intn(3) {
		case 0:
			s.X[i] = corners[random.Intn(len(corners))]
		case 1:
			s.X[i] = random.Uint64()
		default:
			s.X[i] = uint64(int64(int32(random.Uint32()) >> random.Intn(32)))
		}
	}
	for i := range s.D {
		switch random.Intn(3) {
		case 0:
			s.D[i] = random.Uint64()
		case 1:
			s.D[i] = floatCorners[random.Intn(len(floatCorners))]
		default: // with a float in the low half
			s.D[i] = floatCorners[random.Intn(len(floatCorners))] >> 29 & 0xffffffff
		}
	}
	if !isMemoryAccess(w) {
		return s
	}
	rn, rm := w>>5&31, w>>16&31
	if rm < 31 && random.Intn(2) == 0 {
		at := uint64(0x1800)
		if rn == 31 {
			at = 0x2800
		}
		for i := range uint64(8) { // what a compare-and-swap expects
			s.X[rm] |= uint64(byte((at+i)*37^(at+i)>>8)) << (8 * i)
		}
	}
	if w&0x3b200c00 == 0x38200800 && rm < 31 { // an index
		s.X[rm] = uint64(int64(random.Intn(256) - 128))
	}
	if rn < 31 {
		s.X[rn] = memoryAt + 0x1800
	}
	return s
}

// errOutside is the error for an access outside of the emulator's memory.
var errOutside = errors.New("outside")

// oneStep is the policy of a Machine that executes one instruction.
type oneStep struct {
	m      *emulate.Machine
	branch emulate.Truth // of the last branch
}

func (p *oneStep) Load(at emulate.Value, size uint8) (emulate.Value, error) {
	if !at.IsKnown() || at.V < memoryAt || at.V+uint64(size) > memoryAt+memorySize {
		return emulate.Value{}, errOutside
	}
	v, _, err := p.m.Read(pattern{}, at.V, size)
	return v, err
}

func (p *oneStep) Store(at, v emulate.Value, size uint8, perhaps bool) error {
	if !at.IsKnown() || at.V < memoryAt || at.V+uint64(size) > memoryAt+memorySize {
		return errOutside
	}
	if perhaps {
		v = emulate.Value{}
	}
	p.m.Write(at.V, v, size)
	return nil
}

func (p *oneStep) Branch(c emulate.Truth, _ uint64) error { p.branch = c; return nil }
func (p *oneStep) Skip(emulate.Truth) error               { return nil }
func (p *oneStep) Jump(emulate.Value, bool) error         { return errOutside }
func (p *oneStep) Call(emulate.Value) error               { return errOutside }
func (p *oneStep) Return() error                          { return errOutside }

// pattern is the memory of testdata/instructions.c.
type pattern struct{}

func (pattern) ReadMemory(a callbacks.Address, p []byte) error {
	for i := range p {
		at := a.Offset - memoryAt + uint64(i)
		p[i] = byte(at*37 ^ at>>8)
	}
	return nil
}

// word is the code of one instruction.
type word struct {
	at   uint64
	code [4]byte
}

func (w word) ReadMemory(a callbacks.Address, p []byte) error {
	if a.Offset < w.at || a.Offset+uint64(len(p)) > w.at+4 {
		return &callbacks.FaultError{Address: a}
	}
	copy(p, w.code[a.Offset-w.at:])
	return nil
}

// compareInstructions compares the results of an emulator with those of a Machine.
func compareInstructions(t *testing.T, tests, results []a64State) {
	t.Helper()
	conditions := a64Conditions(t)
	known, unknown, refused, outside, bad := 0, 0, map[string]int{}, 0, map[uint64]bool{}
	vectors, written := 0, 0 // known values of vector registers, and those that an instruction has changed
	for i := range tests {
		in, out := &tests[i], &results[i]
		if out.Signal == 4 { // SIGILL: data between functions
			continue
		}
		at := uint64(codeAt + i%batch*slot + inSlot)
		mem := word{at: at}
		binary.LittleEndian.PutUint32(mem.code[:], uint32(in.Word))
		code, err := lift.NewDecoder(callbacks.ArchAArch64, mem)
		if err != nil {
			t.Fatal(err)
		}
		m := emulate.Machine{PC: at, ABI: code.Lifter.Convention(), Written: map[uint64]emulate.Byte{}}
		for r, v := range in.X {
			m.Regs[r] = emulate.Number(v)
		}
		*m.SP() = emulate.Number(in.SP)
		m.Rounding = &emulate.Rounding{Mode: lift.RoundNearest}
		m.SetVectors(func() []byte {
			var b []byte
			for _, v := range in.D {
				b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, v), ^v)
			}
			return b
		})
		m.Flags = emulate.Flags{Kind: lift.FlagsGiven, A: emulate.Number(in.NZCV >> 28)}
		switch err := m.Step(code, &oneStep{m: &m}); {
		case errors.Is(err, emulate.ErrOpaque):
			refused[fmt.Sprintf("group %04b", in.Word>>25&15)]++
			continue
		case err != nil:
			outside++
			continue
		}
		if bad[in.Word] {
			continue
		}
		var wrong []string
		if out.Signal != 0 {
			wrong = append(wrong, fmt.Sprintf("signal %d", out.Signal))
		}
		for r := range 32 {
			want, from := out.SP, in.SP
			if r < 31 {
				want, from = out.X[r], in.X[r]
			}
			got := m.Regs[r]
			if got.IsKnown() {
				known++
			} else {
				unknown++
			}
			if (want^got.V)&got.Known != 0 {
				wrong = append(wrong, fmt.Sprintf("x%d %#x becomes %#x, want %#x", r, from, got.V, want))
			}
		}
		for r := range lift.Register(lift.NumVectors) {
			got := m.Vector(r)
			if got.IsKnown() {
				vectors++
			}
			if (out.D[r]^got.V)&got.Known != 0 {
				wrong = append(wrong, fmt.Sprintf("d%d %#x becomes %#x, want %#x", r, in.D[r], got.V, out.D[r]))
			}
			if got.IsKnown() && out.D[r] != in.D[r] {
				written++
			}
		}
		for cc, c := range conditions {
			got := m.Flags.Test(c)
			if got.Known && got.Holds != holds(cc, out.NZCV>>28) {
				wrong = append(wrong, fmt.Sprintf("condition %d of flags %04b", cc, out.NZCV>>28))
			}
		}
		wrong = append(wrong, compareMemory(&m, out)...)
		if len(wrong) > 0 {
			bad[in.Word] = true
			if len(bad) < 40 {
				t.Errorf("%08x: %s", in.Word, strings.Join(wrong, "; "))
			}
		}
	}
	t.Logf("%d instructions: registers known %d, unknown %d; accesses outside %d; refused %v; %d differ", len(tests)/4,
		known, unknown, outside, refused, len(bad))
	t.Logf("vector registers known %d, %d of them changed", vectors, written)
	if written < len(tests)/100 {
		t.Error("too few instructions on vector registers are followed")
	}
	if known < 100*unknown || len(refused) > 3 {
		t.Errorf("too few instructions are followed")
	}
	if len(tests) < 200000 || outside > len(tests)/20 {
		t.Errorf("%d tests, %d of them with an access outside of the memory", len(tests), outside)
	}
}

// compareMemory compares the bytes that an instruction changed.
func compareMemory(m *emulate.Machine, out *a64State) (wrong []string) {
	changed := map[uint64]byte{}
	var old [1]byte
	for i := range min(out.Changed, uint64(len(out.Bytes))) {
		at := memoryAt + out.From + i
		_ = pattern{}.ReadMemory(callbacks.Addr(at), old[:])
		if out.Bytes[i] != old[0] {
			changed[at] = out.Bytes[i]
		}
	}
	for at, b := range m.Written {
		v, ok := changed[at]
		if !ok {
			_ = pattern{}.ReadMemory(callbacks.Addr(at), old[:])
			v = old[0]
		}
		if (v^b.V)&b.Known != 0 {
			wrong = append(wrong, fmt.Sprintf("byte %#x is %#x, want %#x", at, b.V, v))
		}
	}
	for at := range changed {
		if _, ok := m.Written[at]; !ok {
			wrong = append(wrong, fmt.Sprintf("byte %#x is unchanged", at))
		}
	}
	return wrong
}

// a64Conditions returns the conditions of conditional branches, by their number.
func a64Conditions(t *testing.T) (out []lift.Condition) {
	t.Helper()
	for cc := range uint32(14) {
		mem := word{}
		binary.LittleEndian.PutUint32(mem.code[:], 0x54000000|cc)
		code, err := lift.NewDecoder(callbacks.ArchAArch64, mem)
		if err != nil {
			t.Fatal(err)
		}
		in, ok := code.Fetch(0)
		if !ok {
			t.Fatalf("condition %d is not decoded", cc)
		}
		out = append(out, in.Uops[len(in.Uops)-1].CC)
	}
	return out
}

// holds reports whether a condition holds for the flags (Arm ARM, ConditionHolds).
func holds(cc int, nzcv uint64) bool {
	n, z, c, v := nzcv&8 != 0, nzcv&4 != 0, nzcv&2 != 0, nzcv&1 != 0
	yes := [...]bool{z, c, n, v, c && !z, n == v, n == v && !z}[cc>>1]
	return yes != (cc&1 == 1)
}

// TestBranchesAArch64 compares the branches, calls and system calls of the same libraries with the text of objdump.
func TestBranchesAArch64(t *testing.T) {
	all := map[string]int{}
	for _, path := range omptest.CrossLibraries(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			out, err := exec.Command("aarch64-linux-gnu-objdump", "-d", "-j.text", "-Mno-aliases", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			bad := 0
			for line := range strings.SplitSeq(string(out), "\n") {
				fields := strings.Split(line, "\t")
				if len(fields) < 3 {
					continue
				}
				pc, err := strconv.ParseUint(strings.Trim(fields[0], " :"), 16, 64)
				code, err2 := strconv.ParseUint(strings.TrimSpace(fields[1]), 16, 32)
				if err != nil || err2 != nil {
					continue
				}
				kind := branchKind(strings.TrimSpace(fields[2]))
				want := branch{kind: kind}
				if kind == "jump" || kind == "branch" || kind == "call" {
					operands := strings.Fields(strings.ReplaceAll(fields[3], ",", " "))
					for i, o := range operands {
						if strings.HasPrefix(o, "<") {
							want.target, _ = strconv.ParseUint(operands[i-1], 16, 64)
						}
					}
					if want.target == 0 {
						t.Fatalf("no target: %s", line)
					}
				}
				all[kind]++
				if got := branchOf(t, pc, uint32(code)); got != want {
					if bad++; bad < 20 {
						t.Errorf("%s: %+v, want %+v", line, got, want)
					}
				}
			}
			t.Logf("%d differ", bad)
		})
	}
	for _, kind := range []string{"jump", "branch", "call", "return", "indirect jump", "indirect call", "system call"} {
		if all[kind] < 500 {
			t.Errorf("only %d of kind %s: %v", all[kind], kind, all)
		}
	}
}

// TestBranchKeepsFlags checks that a branch on a register leaves the flags of a comparison before it: compilers test
// them afterwards.
func TestBranchKeepsFlags(t *testing.T) {
	for _, between := range []uint32{0xb4000042, 0x35000042, 0x36180042, 0xb7f80042} { // cbz, cbnz, tbz, tbnz of x2
		flags := emulate.Flags{Kind: lift.FlagsCompare, Size: 8, A: emulate.Number(5), B: emulate.Number(3)}
		m := emulate.Machine{Flags: flags, Written: map[uint64]emulate.Byte{}}
		m.Regs[2] = emulate.Number(1)
		p := &oneStep{m: &m}
		for _, step := range []struct {
			code  uint32
			holds bool
		}{{between, between == 0x35000042 || between == 0x36180042}, {0x5400004c, true}} { // then b.gt
			mem := word{at: m.PC}
			binary.LittleEndian.PutUint32(mem.code[:], step.code)
			code, err := lift.NewDecoder(callbacks.ArchAArch64, mem)
			if err != nil {
				t.Fatal(err)
			}
			m.ABI = code.Lifter.Convention()
			if err := m.Step(code, p); err != nil || !p.branch.Known || p.branch.Holds != step.holds {
				t.Errorf("%08x after %08x: %+v, %v; want %v", step.code, between, p.branch, err, step.holds)
			}
		}
	}
}

// branch is an instruction that transfers control.
type branch struct {
	kind   string // "" for another instruction
	target uint64
}

// branchKind returns the kind of an instruction by its name.
func branchKind(name string) string {
	switch {
	case strings.HasPrefix(name, "b."), slices.Contains([]string{"cbz", "cbnz", "tbz", "tbnz"}, name):
		return "branch"
	case strings.HasPrefix(name, "bra"), name == "br":
		return "indirect jump"
	case strings.HasPrefix(name, "blr"):
		return "indirect call"
	case strings.HasPrefix(name, "ret"):
		return "return"
	case name == "udf", name == ".inst", name == ".word":
		return "invalid"
	}
	return map[string]string{"b": "jump", "bl": "call", "svc": "system call", "brk": "stop", "hlt": "stop"}[name]
}

// branchOf decodes an instruction.
func branchOf(t *testing.T, pc uint64, code uint32) branch {
	t.Helper()
	mem := word{at: pc}
	binary.LittleEndian.PutUint32(mem.code[:], code)
	d, err := lift.NewDecoder(callbacks.ArchAArch64, mem)
	if err != nil {
		t.Fatal(err)
	}
	in, ok := d.Fetch(pc)
	if !ok && code>>25&15 != 2 { // SVE is not decoded
		return branch{kind: "invalid"}
	}
	for i := range in.Uops {
		u := &in.Uops[i]
		switch u.Code {
		case lift.UopBranch:
			return branch{"branch", u.A.Val}
		case lift.UopJump:
			if u.A.IsReg() {
				return branch{kind: "indirect jump"}
			}
			return branch{"jump", u.A.Val}
		case lift.UopCall:
			if u.A.IsReg() {
				return branch{kind: "indirect call"}
			}
			return branch{"call", u.A.Val}
		case lift.UopReturn:
			return branch{kind: "return"}
		case lift.UopSyscall:
			return branch{kind: "system call"}
		case lift.UopStop:
			return branch{kind: "stop"}
		}
	}
	return branch{}
}
