package lift

import (
	"math"
	"math/big"
)

// CompareFloats returns the flags (FlagsGiven) after a comparison of two floating-point numbers of size bytes, with
// flags of kind FlagsFloat or FlagsFloatX86. They are not known for a denormal number: a thread can treat it as 0.
func CompareFloats(kind FlagKind, size uint8, a, b uint64) (flags uint64, known bool) {
	x, y := floatOf(size, a), floatOf(size, b)
	if isDenormal(size, a) || isDenormal(size, b) {
		return 0, false
	}
	switch {
	case x > y:
		return FlagCarry, true
	case x == y:
		return FlagZero | FlagCarry, true
	case kind == FlagsFloatX86 && x < y:
		return 0, true
	case kind == FlagsFloatX86:
		return FlagZero | FlagParity, true
	case x < y:
		return FlagNegative, true
	}
	return FlagCarry | FlagOverflow, true
}

// FloatMask returns the result of a comparison with a mask of size bytes as its result. The relation is that of cmpsd
// and vcmpsd of x86-64. Denormal numbers are as for CompareFloats.
func FloatMask(relation, size uint8, a, b uint64) (mask uint64, known bool) {
	const less, equal, more, unordered = 1, 2, 4, 8
	relations := [...]int{equal, less, less | equal, unordered, less | more | unordered, equal | more | unordered,
		more | unordered, less | equal | more, equal | unordered, less | unordered, less | equal | unordered, 0,
		less | more, equal | more, more, less | equal | more | unordered}
	flags, known := CompareFloats(FlagsFloatX86, size, a, b)
	is := less
	switch {
	case flags&FlagParity != 0:
		is = unordered
	case flags&FlagZero != 0:
		is = equal
	case flags&FlagCarry != 0:
		is = more
	}
	if relations[relation&15]&is != 0 { // from 16 on, they raise other exceptions
		mask = Width(size)
	}
	return mask, known
}

// floatOf returns the floating-point number in the low size bytes of a word.
func floatOf(size uint8, v uint64) float64 {
	if size == 4 {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// isDenormal reports whether the floating-point number in the low size bytes of a word is too small for the full
// precision. 0 is not.
func isDenormal(size uint8, v uint64) bool {
	if size == 4 {
		return v&0x7f80_0000 == 0 && v&0x007f_ffff != 0
	}
	return v&0x7ff0_0000_0000_0000 == 0 && v&0x000f_ffff_ffff_ffff != 0
}

// Conversion is a conversion between number formats.
type Conversion uint8

// The conversions. Those to integers drop the fraction.
const (
	SignedToFloat Conversion = iota
	UnsignedToFloat
	FloatToFloat
	FloatToSigned
	FloatToUnsigned
)

// Apply converts the number in the low "from" bytes of v to a number of "to" bytes. The result is not known if it
// depends on the processor.
func (c Conversion) Apply(r Rounding, v uint64, from, to uint8) Result {
	exact := new(big.Float)
	switch f := floatOf(from, v); {
	case c == SignedToFloat:
		exact.SetInt64(int64(ExtendWord(v, from, true)))
	case c == UnsignedToFloat:
		exact.SetUint64(ExtendWord(v, from, false))
	case c != FloatToFloat:
		return floatToInteger(f, c == FloatToSigned, to)
	case math.IsNaN(f):
		return notNumber(to)
	case isDenormal(from, v):
		return Result{}
	case f == 0 || math.IsInf(f, 0):
		return knownResult(bitsOf(to, f))
	default:
		exact.SetFloat64(f)
	}
	if exact.Sign() == 0 {
		return knownResult(0)
	}
	return r.resultOf(to, r.roundTo(to, new(big.Float)).Set(exact))
}

// floatToInteger returns a floating-point number without its fraction as an integer of size bytes. It is not known
// outside the range.
func floatToInteger(f float64, signed bool, size uint8) Result {
	bound := math.Ldexp(1, int(size)*8)
	switch f = math.Trunc(f); {
	case signed && f >= -bound/2 && f < bound/2:
		return knownResult(uint64(int64(f)) & Width(size))
	case !signed && f >= 0 && f < bound:
		return knownResult(uint64(f))
	}
	return Result{}
}
