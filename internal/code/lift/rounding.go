package lift

import (
	"math"
	"math/big"
)

// Rounding is the way in which a thread rounds results.
type Rounding uint8

// The ways to round results.
const (
	RoundUnknown Rounding = iota // only exact results are known
	RoundNearest
	RoundDown
	RoundUp
	RoundToZero
)

// mode returns the mode of package big.
func (r Rounding) mode() big.RoundingMode {
	return [...]big.RoundingMode{RoundUnknown: big.ToNearestEven, RoundNearest: big.ToNearestEven,
		RoundDown: big.ToNegativeInf, RoundUp: big.ToPositiveInf, RoundToZero: big.ToZero}[r]
}

// Result is the result of an operation on floating-point numbers.
type Result struct {
	V       uint64 // unknown bits are 0
	Known   uint64 // mask of the known bits
	Rounded bool   // it depends on the way to round
}

// knownResult returns a result that depends on nothing else.
func knownResult(v uint64) Result { return Result{V: v, Known: ^uint64(0)} }

// QuietNaN returns the bits that are set in each number of size bytes that is the result of an invalid operation. Its
// other bits depend on the processor.
func QuietNaN(size uint8) uint64 {
	if size == 4 {
		return 0x7fc0_0000
	}
	return 0x7ff8_0000_0000_0000
}

// notNumber returns the result of an invalid operation.
func notNumber(size uint8) Result {
	return Result{V: QuietNaN(size), Known: QuietNaN(size) | ^Width(size)}
}

// bitsOf returns the number of size bytes with the value f.
func bitsOf(size uint8, f float64) uint64 {
	if size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// roundTo sets z, the result of an operation that has not been called yet, to round to a number of size bytes.
func (r Rounding) roundTo(size uint8, z *big.Float) *big.Float {
	precision := uint(53)
	if size == 4 {
		precision = 24
	}
	return z.SetPrec(precision).SetMode(r.mode())
}

// resultOf returns a number that was rounded to size bytes. It is unknown if it is 0, which has a sign, too large, or
// denormal, which a thread can replace by 0.
func (r Rounding) resultOf(size uint8, z *big.Float) Result {
	least, most := 0x1p-1022, math.MaxFloat64
	if size == 4 {
		least, most = 0x1p-126, math.MaxFloat32
	}
	f, _ := z.Float64()
	magnitude, exact := math.Abs(f), z.Acc() == big.Exact
	if magnitude > most || magnitude < least || magnitude == least && !exact || !exact && r == RoundUnknown {
		return Result{}
	}
	out := knownResult(bitsOf(size, f))
	out.Rounded = !exact
	return out
}

// FloatOperator is an operation on floating-point numbers.
type FloatOperator uint8

// The operations.
const (
	FloatAdd FloatOperator = iota
	FloatSub
	FloatMul
	FloatDiv
	FloatMin
	FloatMax
	FloatMulAdd // a * b + c
)

// Apply returns the result for numbers of size bytes. It is not known for denormal numbers, which a thread can treat as
// 0, and where processors differ.
func (op FloatOperator) Apply(r Rounding, size uint8, a, b, c uint64) Result {
	if op != FloatMulAdd {
		c = 0
	}
	if isDenormal(size, a) || isDenormal(size, b) || isDenormal(size, c) {
		return Result{}
	}
	x, y, z := floatOf(size, a), floatOf(size, b), floatOf(size, c)
	if op == FloatMin || op == FloatMax {
		return op.choose(size, a, b)
	}
	near, finite := op.compute(x, y, z), !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsInf(z, 0)
	switch {
	case math.IsNaN(near):
		return notNumber(size)
	case !finite || op == FloatDiv && y == 0:
		return knownResult(bitsOf(size, near))
	}
	return op.round(r, size, x, y, z)
}

// choose returns the smaller or the larger number. Processors differ if one is no number, or if both are 0.
func (op FloatOperator) choose(size uint8, a, b uint64) Result {
	x, y := floatOf(size, a), floatOf(size, b)
	switch {
	case a == b && x == x:
		return knownResult(a)
	case x < y == (op == FloatMin) && x != y && x == x && y == y:
		return knownResult(a)
	case x < y || x > y:
		return knownResult(b)
	}
	return Result{}
}

// compute returns a result, rounded to the nearest double.
func (op FloatOperator) compute(x, y, z float64) float64 {
	switch op {
	case FloatAdd:
		return x + y
	case FloatSub:
		return x - y
	case FloatMul:
		return x * y
	case FloatDiv:
		return x / y
	}
	return math.FMA(x, y, z)
}

// round returns the result for numbers that are finite.
func (op FloatOperator) round(r Rounding, size uint8, x, y, z float64) Result {
	out := r.roundTo(size, new(big.Float))
	a, b := big.NewFloat(x), big.NewFloat(y)
	switch op {
	case FloatAdd, FloatSub:
		if op == FloatSub {
			y = -y
			b.Neg(b)
		}
		if x == -y {
			return r.zeroSum(size, x, y)
		}
		out.Add(a, b)
	case FloatMul, FloatDiv:
		if x == 0 || y == 0 {
			return knownResult(bitsOf(size, op.compute(x, y, z)))
		}
		if op == FloatMul {
			out.Mul(a, b)
		} else {
			out.Quo(a, b)
		}
	default:
		product := new(big.Float).SetPrec(106).Mul(a, b) // exact
		if product.Cmp(big.NewFloat(-z)) == 0 {
			return r.zeroSum(size, x*y, z)
		}
		out.Add(product, big.NewFloat(z))
	}
	return r.resultOf(size, out)
}

// zeroSum returns the sum of two numbers, which is 0. Its sign depends on the way to round if theirs differ.
func (r Rounding) zeroSum(size uint8, x, y float64) Result {
	switch {
	case math.Signbit(x) == math.Signbit(y):
		return knownResult(bitsOf(size, x+y))
	case r == RoundUnknown:
		return Result{}
	}
	out := knownResult(0)
	if out.Rounded = true; r == RoundDown {
		out.V = bitsOf(size, math.Copysign(0, -1))
	}
	return out
}
