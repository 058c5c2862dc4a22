package main

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// fortranVerdicts are programs in Fortran, for the verdicts on which that language
// has other names, other calls or other memory.
func fortranVerdicts() []expectation {
	cycle := func(what, a, b string) expectation {
		return expectation{program: "verdict_fortran_locks", args: []string{what}, kind: "deadlock", threads: 2, waits: []string{"lock " + a, "lock " + b}, says: []string{"in bank::transfer", "verdict_fortran_locks.f90:23"}}
	}
	in := func(lanes string, e expectation) expectation { e.only = lanes; return e }
	return []expectation{
		cycle("0", "first", "second"),
		in("libgomp-O0", cycle("1", "paid", "unpaid")), in("libomp", cycle("1", "ledger_", "ledger_+0x8")),
		in("libgomp", cycle("2", "locks(0)", "locks(3)")), in("libomp", cycle("2", "bank::locks+0x20", "bank::locks+0x8")),
		in("libgomp", cycle("3", "accounts(2)%lock", "accounts(3)%lock")), in("libomp", cycle("3", "bank::accounts+0x18", "bank::accounts+0x28")),
		in("libgomp libomp-O0", cycle("5", "credit in bank::local", "debit in bank::local")),
		{program: "verdict_fortran_locks", args: []string{"6"}, kind: "self_deadlock", threads: 1, waits: []string{"lock first"}, says: []string{"which it has itself"}},
		{program: "verdict_fortran_locks", args: []string{"7"}},
	}
}

// fortranLanes are the lanes in which programs in Fortran run: one of each compiler
// in a short run, a core and a process.
func fortranLanes() []lane {
	return slices.DeleteFunc(lanes(), func(l lane) bool {
		return !omptest.Full() && !slices.Contains([]string{"libgomp-bookworm-O2", "libomp-16-O1-live"}, l.String())
	})
}

// TestFortranVerdicts is TestVerdicts for Fortran.
func TestFortranVerdicts(t *testing.T) {
	for _, l := range fortranLanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			l.verdicts(t, fortranVerdicts())
		})
	}
}
