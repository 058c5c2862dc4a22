package teams

import (
	"math/rand/v2"
	"testing"
)

// TestAddresses compares the set with a map.
func TestAddresses(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var s addresses
	known := map[uint64]bool{}
	for range 20000 {
		a := random.Uint64N(1 << 17)
		if random.IntN(2) == 0 {
			a &^= addressUnit - 1
		}
		if got := s.add(a); got == known[a] {
			t.Fatalf("%#x is new: %v", a, got)
		}
		known[a] = true
	}
	for _, a := range []uint64{0, ^uint64(0), ^uint64(0) &^ (addressUnit - 1), 1 << 63} {
		if s.add(a) == known[a] || s.add(a) {
			t.Errorf("%#x", a)
		}
	}
}
