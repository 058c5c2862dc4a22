package inspect

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
)

// LockCall is what a call does that acquires a lock.
type LockCall uint8

// The calls. What a function calls last, by a jump, is not told apart from what its caller calls.
const (
	LockCallUnknown LockCall = iota
	LockCallWaits
	LockCallTests // it does not wait
)

// LockCallBefore is what the call does that returns to an address.
func LockCallBefore(target callbacks.Target, sym *symbolize.Symbolizer, ret uint64) LockCall {
	return lockCallOf(stacks.CallTargetBefore(target, sym, ret))
}

// lockCallOf is what a function of the standard does, in C or in Fortran.
func lockCallOf(name string) LockCall {
	switch strings.TrimSuffix(name, "_") {
	case "omp_set_lock", "omp_set_nest_lock":
		return LockCallWaits
	case "omp_test_lock", "omp_test_nest_lock":
		return LockCallTests
	}
	return LockCallUnknown
}
