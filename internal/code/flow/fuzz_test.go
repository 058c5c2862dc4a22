package flow

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// codeAt is a memory with the code of one function.
type codeAt []byte

// fuzzBase is the address of the code.
const fuzzBase = 0x1000

func (m codeAt) ReadMemory(a callbacks.Address, p []byte) error {
	off := a.Offset - fuzzBase
	if off > uint64(len(m)) || uint64(len(p)) > uint64(len(m))-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m[off:])
	return nil
}

// limited is a Meter with a budget.
type limited struct{ left int }

var errEnough = errors.New("enough")

func (l *limited) Spend(work int) error {
	if l.left -= work; l.left < 0 {
		return errEnough
	}
	return nil
}

// FuzzFunction analyzes arbitrary bytes as a function, with different budgets. No question panics, and facts
// found with a budget are not more certain than without.
func FuzzFunction(f *testing.F) {
	f.Add([]byte("\xe8\xfb\xff\xff\xff\xc3"), byte(0), uint16(1000))                    // calls itself
	f.Add([]byte("\x85\xff\x74\xfc\x75\xfa\xc3"), byte(1), uint16(10))                  // branches back
	f.Add([]byte("\xff\x24\xfd\x00\x10\x00\x00\x90\xc3"), byte(2), uint16(100))         // a jump table
	f.Add([]byte("\x48\x83\xec\x08\xe8\x00\x01\x00\x00\xeb\xf9"), byte(3), uint16(200)) // calls in an endless loop
	// aarch64
	f.Add([]byte("\xfd\x7b\xbf\xa9\x40\x00\x00\x94\x40\x00\x00\x54\xc0\x03\x5f\xd6"), byte(4), uint16(100))
	f.Fuzz(func(t *testing.T, code []byte, mode byte, work uint16) {
		cfg := Config{Arch: callbacks.ArchX86_64, Mem: codeAt(code)}
		if mode&4 != 0 {
			cfg.Arch = callbacks.ArchAArch64
		}
		if mode&8 != 0 {
			cfg.Resolve = func(a uint64) (symbolic.Target, bool) {
				return symbolic.Target{Name: "exit", Entry: a}, a&2 != 0
			}
		}
		free, err := New(cfg, Range{fuzzBase, fuzzBase + uint64(len(code))})
		if err != nil {
			return
		}
		cfg.Meter = &limited{int(work)}
		bound, err := New(cfg, Range{fuzzBase, fuzzBase + uint64(len(code))})
		if err != nil && !errors.Is(err, ErrSpent) {
			t.Fatal(err)
		}
		regs := &callbacks.Registers{}
		effect := func(s CallSite) Effect { return Effect(s.PC+uint64(mode)) % (NoReturn + 1) }
		for off := range min(len(code), 24) {
			at := Point{PC: fuzzBase + uint64(off), Exact: mode&1 != 0, CFA: 0x7000, Registers: regs}
			truth, _ := free.Holds(at, effect)
			sites := free.SitesAfter(at)
			for _, s := range sites[:min(len(sites), 3)] { // each value takes up to a millisecond
				for _, a := range s.Args[:min(len(s.Args), 2)] {
					free.Value(s, a, at)
				}
			}
			if bound == nil {
				continue
			}
			if got, _ := bound.Holds(at, effect); got != truth && got != Maybe {
				t.Fatalf("at %#x: %d with a bound of work, %d without", at.PC, got, truth)
			}
		}
		free.AtReturn(Yes, free.effects(effect), nil, Sets)
	})
}
