package lockflow

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// program is a process made of x86-64 functions, each given as lines of
//
//	call NAME      a function of the program, or one of a library
//	first VALUE    puts a number into the first argument's register
//	hand NAME      puts a function's address there
//	second NAME    puts a function's address into the second argument's register
//	maybe N        skips the next N lines on one of two paths
//	zero N         skips the next N lines if the result register is not 0
//	indirect       calls the function that a register points to
//	store          writes to the address in a register
//	result VALUE   puts a number into the result register
//	return         returns
//
// and a return at the end.
type program struct {
	tb      testing.TB
	code    []byte
	entries map[string]uint64
	names   map[uint64]string
	ends    map[uint64]uint64
	lines   map[string][]uint64 // addresses after each line of a function
	texts   map[string]string
	lookups int
}

const (
	codeBase    = 0x10000 // of the program's functions
	libraryBase = 0x80000 // of the C library's
	opaqueBase  = 0x90000 // of an MPI library
	functionGap = 0x100
)

// assemble places the functions in memory. Other names are functions of the C library, or of MPI if they start
// with "opaque".
func assemble(tb testing.TB, functions map[string]string) *program {
	p := &program{
		tb: tb, code: make([]byte, functionGap*(len(functions)+1)), entries: map[string]uint64{},
		names: map[uint64]string{},
		ends:  map[uint64]uint64{}, lines: map[string][]uint64{}, texts: functions,
	}
	at := uint64(codeBase)
	for name := range functions {
		p.entries[name], p.names[at] = at, name
		at += functionGap
	}
	for name, text := range functions {
		p.function(name, text)
	}
	return p
}

// entry returns the address of a function, and assigns one if it is missing.
func (p *program) entry(name string) uint64 {
	if a, ok := p.entries[name]; ok {
		return a
	}
	a := uint64(libraryBase + 16*len(p.entries))
	if strings.HasPrefix(name, "opaque") {
		a += opaqueBase - libraryBase
	}
	p.entries[name], p.names[a] = a, name
	return a
}

func (p *program) function(name, text string) {
	base := p.entries[name]
	pc := base
	emit := func(b ...byte) { pc += uint64(copy(p.code[pc-codeBase:], b)) }
	emit(0x48, 0x83, 0xec, 0x08) // sub $8,%rsp
	var skip struct{ at, lines uint64 }
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, _ := strconv.ParseUint(rest, 10, 32) // 0 for a name
		switch word {
		case "call":
			emit(binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(p.entry(rest)-pc-5))...)
		case "first":
			emit(binary.LittleEndian.AppendUint32([]byte{0xbf}, uint32(value))...)
		case "hand":
			emit(binary.LittleEndian.AppendUint32([]byte{0x48, 0x8d, 0x3d}, uint32(p.entry(rest)-pc-7))...)
		case "second":
			emit(binary.LittleEndian.AppendUint32([]byte{0x48, 0x8d, 0x35}, uint32(p.entry(rest)-pc-7))...)
		case "indirect":
			emit(0xff, 0xd3) // call *%rbx
		case "store":
			emit(0x89, 0x03) // mov %eax,(%rbx)
		case "result":
			emit(binary.LittleEndian.AppendUint32([]byte{0xb8}, uint32(value))...)
		case "return":
			emit(0x48, 0x83, 0xc4, 0x08, 0xc3)
		case "maybe":
			emit(0x85, 0xf6, 0x74, 0x00) // test %esi,%esi; je
			skip.at, skip.lines = pc, value+1
		case "zero":
			emit(0x85, 0xc0, 0x75, 0x00) // test %eax,%eax; jne
			skip.at, skip.lines = pc, value+1
		default:
			p.tb.Fatalf("%q is no line of code", line)
		}
		if skip.lines > 0 {
			if skip.lines--; skip.lines == 0 {
				p.code[skip.at-codeBase-1] = byte(pc - skip.at)
			}
		}
		p.lines[name] = append(p.lines[name], pc)
	}
	emit(0x48, 0x83, 0xc4, 0x08, 0xc3) // add $8,%rsp; ret
	p.ends[base] = pc
}

func (p *program) ReadMemory(a callbacks.Address, b []byte) error {
	off := a.Offset - codeBase
	if off > uint64(len(p.code)) || uint64(len(b)) > uint64(len(p.code))-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(b, p.code[off:])
	return nil
}

func (p *program) Bounds(pc uint64) (low, high uint64, ok bool) {
	low = pc &^ (functionGap - 1)
	high, ok = p.ends[low]
	return low, high, ok && pc < high
}

func (p *program) Resolve(addr uint64) (symbolic.Target, bool) {
	name, ok := p.names[addr]
	return symbolic.Target{Name: name}, ok
}

// PartOf finds none, since each function is in one place.
func (p *program) PartOf(uint64) (entry uint64, ok bool) { return 0, false }

// Parts returns none.
func (p *program) Parts(uint64) []uint64 { return nil }

func (p *program) Lookup(name string) (uint64, bool) {
	p.lookups++
	a, ok := p.entries[name]
	return a, ok
}

func (p *program) Class(pc uint64) Class {
	switch {
	case pc >= codeBase && pc < codeBase+uint64(len(p.code)):
		return User
	case pc >= opaqueBase:
		return Opaque
	case pc >= libraryBase:
		return System
	}
	return Unmapped
}

// IsFixed reports whether addr is in the code.
func (p *program) IsFixed(addr uint64) bool { return addr-codeBase < uint64(len(p.code)) }

// Extent finds no variables.
func (p *program) Extent(flow.Frame, uint64) (low, high uint64, ok bool) { return 0, 0, false }

// open returns a Program for p.
func (p *program) open(m flow.Meter) *Program {
	return NewProgram(Config{Arch: callbacks.ArchX86_64, Mem: p, Code: p, Meter: m})
}

// thread returns a thread with a stack of calls, the innermost first: each is the name of a function, and the
// number (from 0) of the line with the unfinished call.
func (p *program) thread(id int, calls ...any) *Thread {
	t := &Thread{ID: id, Whole: true}
	for i := 0; i < len(calls); i += 2 {
		pc := p.lines[calls[i].(string)][calls[i+1].(int)]
		t.Frames = append(t.Frames, Frame{PC: pc, CFA: 0x7000_0000, Registers: &callbacks.Registers{}, User: true})
	}
	return t
}

// spent is a Meter without any budget.
type spent struct{}

var errEnough = errors.New("enough")

func (spent) Spend(int) error { return errEnough }
