package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// CriticalIDs are the wait ids by which OMPT's events may tell of the critical section that has its
// variable at an address. The variable itself, where the lock fits into it; in LLVM's runtime mostly the
// lock that it leads to, directly or by a pair of the lock and its type.
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
