package modules

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestBorrowers checks which of the threads with one thread pointer have a control block of another thread, by the
// thread id in it: at the offset of glibc, or of musl. In a block without one of their ids, none is known.
func TestBorrowers(t *testing.T) {
	const glibc, musl, none, alone, gone = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000
	fake := callbackstest.NewFake(callbacks.ArchX86_64)
	for block, at := range map[uint64]uint64{glibc: 720, musl: 48, none: 64, alone: 720} {
		fake.Map(callbacks.Addr(block), make([]byte, 4096))
		id := map[uint64]uint64{glibc: 12, musl: 21, none: 31, alone: 99}[block]
		if err := fake.Put(callbacks.Addr(block+at), 4, id); err != nil {
			t.Fatal(err)
		}
	}
	ids := []uint64{11, 12, 13, 21, 22, 31, 32, 41, 51, 52, 61, 62}
	pointers := []uint64{glibc, glibc, glibc, musl, musl, none, none, alone, gone, gone, 0, 0}
	table := &Table{facts: Facts{Memory: fake, Arch: callbacks.ArchX86_64}}
	got := table.Borrowers(SharedPointers(pointers), func(i int) uint64 { return ids[i] })
	slices.Sort(got)
	if want := []int{0, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("threads %v have a control block of another one, want %v", got, want)
	}
}
