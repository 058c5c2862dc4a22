package pycode

import (
	"encoding/binary"
	"math/bits"
)

// sipHash returns the hash of b by SipHash with a number of rounds for each word, and two more at the end
// (SipHash-1-3 and SipHash-2-4).
func sipHash(k0, k1 uint64, b []byte, rounds int) uint64 {
	v := [4]uint64{
		k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573,
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		sipWord(&v, binary.LittleEndian.Uint64(b), rounds)
	}
	var rest [8]byte
	copy(rest[:], b)
	sipWord(&v, last|binary.LittleEndian.Uint64(rest[:]), rounds)
	v[2] ^= 0xff
	sipRounds(&v, rounds+2)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

// sipWord mixes a word into the state.
func sipWord(v *[4]uint64, m uint64, rounds int) {
	v[3] ^= m
	sipRounds(v, rounds)
	v[0] ^= m
}

func sipRounds(v *[4]uint64, n int) {
	for range n {
		v[0] += v[1]
		v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
		v[0] = bits.RotateLeft64(v[0], 32)
		v[2] += v[3]
		v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
		v[0] += v[3]
		v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
		v[2] += v[1]
		v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
		v[2] = bits.RotateLeft64(v[2], 32)
	}
}
