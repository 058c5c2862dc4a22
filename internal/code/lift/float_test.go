package lift

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCompareFloats compares numbers with those of this processor, and denormal ones, whose relation depends on the
// thread.
func TestCompareFloats(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1, -1, 2.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-310}
	for _, x := range values {
		for _, y := range values {
			denormal := x == 1e-310 || y == 1e-310
			for kind, conditions := range map[FlagKind]map[Condition]bool{
				FlagsFloatX86: { // ja, jae, jb, jbe, je, jp
					{Op: UGT}: x > y, {Op: EQ, Bit: true}: x >= y, {Op: NE, Bit: true}: !(x >= y), {Op: ULE}: !(x > y),
					{Op: EQ}: !(x < y || x > y), {Flag: FlagParity}: x != x || y != y,
				},
				FlagsFloat: { // b.mi, b.ls, b.ge, b.gt, b.eq, b.vs, b.hi
					{Op: LT, Sign: true}: x < y, {Op: ULE}: x <= y, {Op: GE}: x >= y, {Op: GT}: x > y, {Op: EQ}: x == y,
					{Flag: FlagOverflow}: x != x || y != y, {Op: UGT}: !(x <= y),
				},
			} {
				flags, known := CompareFloats(kind, 8, math.Float64bits(x), math.Float64bits(y))
				if known == denormal {
					t.Errorf("%v and %v: known %v", x, y, known)
				}
				for c, want := range conditions {
					holds, sure := c.HoldsGiven(flags)
					opposite, _ := c.Negate().HoldsGiven(flags)
					if known && (!sure || holds != want || opposite == want) {
						t.Errorf("flags kind %d of %v and %v: condition %+v is %v", kind, x, y, c, holds)
					}
				}
			}
		}
	}
}

// TestConversions converts numbers whose results depend on the way to round, on the processor, or on nothing else.
func TestConversions(t *testing.T) {
	const unknown = 1 // a denormal number, which is never a result
	tests := []struct {
		c                   Conversion
		v                   uint64
		from, to            uint8
		exact, near, upward uint64 // the results with RoundUnknown, RoundNearest, RoundUp
	}{
		{SignedToFloat, 0xffffffff, 4, 8, math.Float64bits(-1), math.Float64bits(-1), math.Float64bits(-1)},
		{SignedToFloat, 0, 4, 8, 0, 0, 0},
		{SignedToFloat, 1 << 63, 8, 8, math.Float64bits(-1 << 63), math.Float64bits(-1 << 63),
			math.Float64bits(-1 << 63)},
		{SignedToFloat, 1<<53 + 1, 8, 8, unknown, math.Float64bits(1 << 53), math.Float64bits(1<<53 + 2)},
		{SignedToFloat, 1<<24 + 1, 4, 4, unknown, 0x4b800000, 0x4b800001},
		{UnsignedToFloat, 1<<64 - 1<<11, 8, 8, math.Float64bits(1<<64 - 1<<11), math.Float64bits(1<<64 - 1<<11),
			math.Float64bits(1<<64 - 1<<11)},
		{FloatToFloat, uint64(math.Float32bits(0.1)), 4, 8, math.Float64bits(float64(float32(0.1))),
			math.Float64bits(float64(float32(0.1))), math.Float64bits(float64(float32(0.1)))},
		{FloatToFloat, math.Float64bits(0.1), 8, 4, unknown, 0x3dcccccd, 0x3dcccccd},
		{FloatToFloat, math.Float64bits(0.3), 8, 4, unknown, 0x3e99999a, 0x3e99999a},
		{FloatToFloat, math.Float64bits(0.7), 8, 4, unknown, 0x3f333333, 0x3f333334},
		{FloatToFloat, math.Float64bits(0.5), 8, 4, 0x3f000000, 0x3f000000, 0x3f000000},
		{FloatToFloat, math.Float64bits(1e-40), 8, 4, unknown, unknown, unknown},
		{FloatToFloat, math.Float64bits(1e40), 8, 4, unknown, unknown, unknown},
		{FloatToFloat, math.Float64bits(math.Inf(-1)), 8, 4, 0xff800000, 0xff800000, 0xff800000},
		{FloatToFloat, math.Float64bits(math.Copysign(0, -1)), 8, 4, 1 << 31, 1 << 31, 1 << 31},
		{FloatToFloat, 1, 4, 8, unknown, unknown, unknown},
		{FloatToSigned, math.Float64bits(-2.9), 8, 4, 0xfffffffe, 0xfffffffe, 0xfffffffe},
		{FloatToSigned, math.Float64bits(1 << 31), 8, 4, unknown, unknown, unknown},
		{FloatToSigned, math.Float64bits(1 << 31), 8, 8, 1 << 31, 1 << 31, 1 << 31},
		{FloatToUnsigned, math.Float64bits(1 << 63), 8, 8, 1 << 63, 1 << 63, 1 << 63},
		{FloatToUnsigned, math.Float64bits(-1), 8, 8, unknown, unknown, unknown},
	}
	for _, tt := range tests {
		for mode, want := range map[Rounding]uint64{RoundUnknown: tt.exact, RoundNearest: tt.near, RoundUp: tt.upward} {
			got := tt.c.Apply(mode, tt.v, tt.from, tt.to)
			known := got.Known == ^uint64(0)
			rounded := want != unknown && tt.exact == unknown
			if known != (want != unknown) || known && (got.V != want || got.Rounded != rounded) {
				t.Errorf("conversion %d of %#x, rounding %d: %+v, want %#x", tt.c, tt.v, mode, got, want)
			}
		}
	}
	got := FloatToFloat.Apply(RoundNearest, math.Float64bits(math.NaN()), 8, 4)
	if got.V != QuietNaN(4) || got.Known == ^uint64(0) || got.Known&QuietNaN(4) != QuietNaN(4) {
		t.Errorf("a NaN becomes %+v", got)
	}
}

// TestVEXAddresses decodes memory arguments of instructions with a VEX prefix: relative to the instruction, and in
// thread-local data.
func TestVEXAddresses(t *testing.T) {
	for code, want := range map[string]Uop{
		"\xc5\xfb\x10\x05\x10\x00\x00\x00":             {A: absolute(0x1008), Disp: 0x10}, // vmovsd 0x10(%rip),%xmm0
		"\xc4\xe2\x7d\x19\x05\x10\x00\x00\x00":         {A: absolute(0x1009), Disp: 0x10}, // vbroadcastsd
		"\x64\xc5\xfb\x10\x04\x25\xf8\xff\xff\xff":     {TLS: true, Disp: ^uint64(7)},     // vmovsd %fs:-8,%xmm0
		"\x62\xf1\xff\x08\x10\x05\x10\x00\x00\x00":     {A: absolute(0x100a), Disp: 0x10}, // with EVEX
		"\x64\xf2\x0f\x10\x04\x25\xf8\xff\xff\xff":     {TLS: true, Disp: ^uint64(7)},     // movsd %fs:-8,%xmm0
		"\xc5\xfb\x10\x87\xf0\xff\xff\xff":             {A: reg(rdi), Disp: ^uint64(15)},  // vmovsd -16(%rdi),%xmm0
		"\xc5\xfb\x10\x04\x25\x10\x00\x00\x00\x90\x90": {Disp: 0x10},                      // vmovsd 0x10,%xmm0
	} {
		in, ok := x86{}.Lift([]byte(code), 0x1000, nil)
		i := slices.IndexFunc(in.Uops, func(u Uop) bool { return u.Code == UopAddress })
		if !ok || i < 0 || in.Length != len(strings.TrimSuffix(code, "\x90\x90")) {
			t.Errorf("%q: %+v", code, in)
			continue
		}
		got := in.Uops[i]
		if !got.A.IsReg() && !got.A.Absolute {
			got.A = Operand{}
		}
		if got.A != want.A || got.TLS != want.TLS || got.Disp != want.Disp {
			t.Errorf("%q: %+v", code, got)
		}
	}
}
