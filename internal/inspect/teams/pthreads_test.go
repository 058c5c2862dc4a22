package teams

import "testing"

// TestCommonDistance finds the size of the C library's control block from the runtime's copies of pthread_t. Without
// enough of them, there is no answer.
func TestCommonDistance(t *testing.T) {
	const block = 0x6f0
	threads := []*Thread{{}, {}, {}}
	pointers := map[*Thread]uint64{threads[0]: 0x7f0000100000, threads[1]: 0x7f0000900000, threads[2]: 0x7f0001100000}
	for name, c := range map[string]struct {
		known map[uint64]bool
		ok    bool
	}{
		"all threads":     {map[uint64]bool{0x7f00000ff910: true, 0x7f00008ff910: true, 0x7f00010ff910: true}, true},
		"one is gone":     {map[uint64]bool{0x7f00000ff910: true, 0x7f00008ff910: true, 0x7f00020ff910: true}, true},
		"the initial one": {map[uint64]bool{0x7f00000ff910: true}, true},
		"half":            {map[uint64]bool{0x7f00000ff910: true, 0x7f00008ff900: true}, false},
		"others":          {map[uint64]bool{0x7f0000500000: true}, false},
	} {
		got, ok := commonDistance(pointers, c.known)
		if ok != c.ok || ok && got != block {
			t.Errorf("%s: %#x, %v", name, got, ok)
		}
	}
}
