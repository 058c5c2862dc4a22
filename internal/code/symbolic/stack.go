package symbolic

import "math/bits"

// A function whose variables need more than the usual alignment rounds its stack pointer down, by a distance that
// differs from call to call. The expressions of kind KindStack below the rounded pointer have values of their own, far
// below those of the other cells of the stack: realignedBase, minus the position and the alignment of the pointer, plus
// the distance from it.

// Parts of such a value, by their lowest bits.
const (
	realignedBase  = 1 << 61
	alignmentShift = 50 // the alignment's power of two
	positionShift  = 38 // the words from the rounded pointer before up to the stack pointer at entry
	maxPosition    = 1<<12 - 1
	maxDistance    = 1 << 37 // from the rounded pointer
	// maxAlignment is a page: compilers align variables by less.
	maxAlignment = 12
)

// realign returns the value of the stack pointer off, relative to that at entry, after it was rounded down by mask. It
// is not ok if mask is no alignment, or off is a rounded pointer itself.
func realign(off, mask uint64) (val uint64, ok bool) {
	power, words := bits.TrailingZeros64(mask), -int64(off)/8
	if mask != -(uint64(1)<<power) || power < 4 || power > maxAlignment ||
		off%8 != 0 || words < 0 || words > maxPosition {
		return 0, false
	}
	return -(realignedBase | uint64(power)<<alignmentShift | uint64(words)<<positionShift), true
}

// StackAddress returns the address of a stack cell with value val of kind KindStack; sp is the stack pointer at entry.
func StackAddress(val, sp uint64) uint64 {
	n := -val + maxDistance
	if int64(n) < realignedBase {
		return sp + val
	}
	top := n &^ (1<<positionShift - 1)
	power, words := top>>alignmentShift&(1<<4-1), top>>positionShift&maxPosition
	return (sp-8*words)&^(1<<power-1) + top + val
}
