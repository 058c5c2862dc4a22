package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// CriticalIDs returns the possible wait ids, in OMPT's events, of the critical section with its variable at the
// given address: the variable itself if it contains the lock; in LLVM's runtime usually the lock to which it
// points, directly or through a pair of the lock and its type.
func CriticalIDs(mem callbacks.Memory, variable uint64) []uint64 {
	const pointer = 8
	out := []uint64{variable}
	for range 2 {
		next, err := layout.ReadUint(mem, callbacks.Addr(out[len(out)-1]), pointer)
		if err != nil || next == 0 {
			break
		}
		out = append(out, next)
	}
	return out
}
