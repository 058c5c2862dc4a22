package unwind

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// oneFunction returns a target with one function, a valid table and the given stack.
func oneFunction(t *testing.T, a callbacks.Arch, insts []byte, stack ...uint64) (*Unwinder, callbacks.Registers) {
	t.Helper()
	mem := &stackBytes{}
	for _, w := range stack {
		mem.b = binary.LittleEndian.AppendUint64(mem.b, w)
	}
	ra := uint64(16)
	if a == callbacks.ArchAArch64 {
		ra = callbacks.AArch64LR
	}
	low, high := uint64(funcLow), uint64(funcLow+funcSize)
	rules, err := (&fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: ra, insts: buf{b: insts}}, low: low,
		high: high}).makeRow(low, a)
	if err != nil {
		t.Fatal(err)
	}
	rules.low, rules.high, rules.how = low, high, HowEHFrame
	u := New(mem, a, nil)
	for pc := low; pc < high; pc++ {
		u.rows[pc] = rules
	}
	regs := callbacks.Registers{Arch: a}
	regs.SetPC(low + 4)
	regs.SetSP(stackAt)
	return u, regs
}

func TestDamagedStacks(t *testing.T) {
	const ret = funcLow + 8
	for _, c := range []struct {
		name   string
		stack  []uint64
		max    int
		frames int
		err    error
	}{
		{"ends with 0", []uint64{ret, ret, 0}, 0, 3, nil},
		{"as deep as asked for", []uint64{ret, ret, 0}, 3, 3, nil},
		{"deeper than asked for", []uint64{ret, ret, ret, 0}, 3, 3, ErrTooDeep},
		{"leads to nowhere", []uint64{ret, 0x666}, 0, 3, ErrNoUnwindInfo},
		{"is cut off", []uint64{ret, ret}, 0, 3, callbacks.ErrUnmapped},
		{"is deeper than any", slices.Repeat([]uint64{ret}, MaxFrames+1), 1 << 30, MaxFrames, ErrTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, regs := oneFunction(t, callbacks.ArchX86_64, start, c.stack...)
			frames, err := u.Stack(regs, c.max)
			if len(frames) != c.frames || !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%d frames, %v; want %d, %v", len(frames), err, c.frames, c.err)
			}
		})
	}
}

func TestNotGrowing(t *testing.T) {
	// The CFA is the value of rbp, which does not change.
	insts := []byte{cfaDefCFA, 6, 16, cfaOffset | 16, 1, cfaSameValue, 6}
	u, regs := oneFunction(t, callbacks.ArchX86_64, insts, 1, funcLow+8, 2, 3)
	regs.Set(callbacks.X86RBP, stackAt)
	frames, err := u.Stack(regs, 0)
	if len(frames) != 2 || !errors.Is(err, ErrNotGrowing) {
		t.Errorf("%d frames, %v; want 2, %v", len(frames), err, ErrNotGrowing)
	}
}

// TestSignedReturnAddress checks that the authentication code is removed, with the target's mask,
// or without one by the limits of a user address.
func TestSignedReturnAddress(t *testing.T) {
	const signature = 0x0051 << 48
	insts := []byte{cfaDefCFA, 31, 16, cfaOffset | 30, 1, cfaOffset | 29, 2, cfaAArch64NegateRAState}
	for _, mask := range []uint64{0, 0x007f << 48} {
		u, regs := oneFunction(t, callbacks.ArchAArch64, insts, 7, funcLow+8|signature, 9, 0)
		regs.PACMask = mask
		frames, err := u.Stack(regs, 0)
		if err != nil || len(frames) != 2 || frames[1].PC != funcLow+8 {
			t.Fatalf("mask %#x: %+v, %v; want a second frame at %#x", mask, frames, err, funcLow+8)
		}
		if fp, ok := frames[1].Registers.Get(callbacks.AArch64FP); !ok || fp != 7 {
			t.Errorf("mask %#x: frame pointer %d, %v; want 7", mask, fp, ok)
		}
	}
}

// TestLeafByLinkRegister checks that the return address of a function without a frame is taken from the link
// register, once.
func TestLeafByLinkRegister(t *testing.T) {
	u, regs := oneFunction(t, callbacks.ArchAArch64, []byte{cfaDefCFA, 31, 0}, 0)
	regs.Set(callbacks.AArch64LR, funcLow+12)
	frames, err := u.Stack(regs, 0)
	if len(frames) != 2 || frames[1].PC != funcLow+12 || !errors.Is(err, ErrNotGrowing) {
		t.Errorf("%+v, %v; want two frames, and an end because the second cannot be a leaf", frames, err)
	}
}
