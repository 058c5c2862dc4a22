package verdicts

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// fortranVerdicts returns programs in Fortran, for the verdicts for which that language has other names, calls or
// memory.
func fortranVerdicts() []expectation {
	cycle := func(what, a, b string) expectation {
		return expectation{program: "verdict_fortran_locks", args: []string{what}, kind: "deadlock", threads: 2,
			waits: []string{"lock " + a, "lock " + b},
			says:  []string{"in bank::transfer", "verdict_fortran_locks.f90:23"}}
	}
	in := func(lanes string, e expectation) expectation { e.only = lanes; return e }
	return append(slices.Concat(fortranIterations(), fortranDeaths()), []expectation{
		cycle("0", "first", "second"),
		in("libgomp-O0", cycle("1", "paid", "unpaid")), in("libomp", cycle("1", "ledger_", "ledger_+0x8")),
		in("libgomp", cycle("2", "locks(0)", "locks(3)")),
		in("libomp", cycle("2", "bank::locks+0x20", "bank::locks+0x8")),
		in("libgomp", cycle("3", "accounts(2)%lock", "accounts(3)%lock")),
		in("libomp", cycle("3", "bank::accounts+0x18", "bank::accounts+0x28")),
		cycle("4", "heap(2)", "heap(5)"),
		in("libgomp libomp-O0", cycle("5", "credit in bank::local", "debit in bank::local")),
		{program: "verdict_fortran_locks", args: []string{"6"}, kind: "self_deadlock", threads: 1,
			waits: []string{"lock first"}, says: []string{"which it holds itself"}},
		{program: "verdict_fortran_locks", args: []string{"7"}},
		{program: "verdict_fortran_waits", args: []string{"0"}, kind: "deadlock", threads: 2,
			waits: []string{"critical audit", "critical ledger"}, says: []string{"office::book", "office::check",
				"critical section ledger"}},
		{program: "verdict_fortran_waits", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"nest_lock leaf", "nest_lock tree"}, says: []string{"office::down", "office::up"},
			llvm: []string{"owner_id"}, gcc: []string{"as the owner, depth 2"}},
		{program: "verdict_fortran_waits", args: []string{"2"}, kind: "barrier_divergent", certainty: "certain",
			threads: 2, waits: []string{"barrier", "barrier"}, says: []string{"at the end of the parallel region",
				"office::gather"}},
		{program: "verdict_fortran_waits", args: []string{"3"}, kind: "illegal_barrier", certainty: "certain",
			threads: 2, waits: []string{"barrier", "critical room"}, says: []string{"in the critical construct at " +
				"verdict_fortran_waits.f90:6"}},
		{program: "verdict_fortran_waits", args: []string{"4"}, kind: "barrier_missing", info: true,
			certainty: "possible", threads: 2, says: []string{"2 of 3 arrived", "verdict_fortran_waits.f90:5"}},
		{program: "verdict_fortran_waits", args: []string{"5"}},
		{program: "verdict_fortran_shifted", args: []string{"0"}, kind: "barrier_divergent", threads: 2,
			waits: []string{"barrier", "barrier"},
			says:  []string{"only one side of the branch at verdict_fortran_shifted.f90:20 leads to the barrier at "}},
		{program: "verdict_fortran_shifted", args: []string{"1"}, kind: "barrier_divergent", threads: 2,
			waits: []string{"barrier", "barrier"},
			says:  []string{"only one side of the branch at verdict_fortran_shifted.f90:31 leads to the barrier at "}},
		{program: "verdict_fortran_shifted", args: []string{"2"}},
		// LLVM's runtime crashes.
		{program: "verdict_fortran_past", args: []string{"0"}, only: "libgomp", kind: "lock_freed", threads: 3,
			says: []string{"which is no lock", "The call is in grid::add verdict_fortran_past.f90:15",
				" locks (128 bytes at ", "check the index"}},
		{program: "verdict_fortran_past", args: []string{"2"}, only: "libgomp", kind: "lock_freed", threads: 3,
			says: []string{"which is no lock", " locks (128 bytes at ", "counts, which has the value 400, of no lock"}},
		{program: "verdict_fortran_past", args: []string{"3"}, only: "libgomp", kind: "lock_orphaned", threads: 3,
			says: []string{"counts, and the code takes it as an element of", "locks (128 bytes at "}},
		{program: "verdict_fortran_past", args: []string{"1"}, only: "libgomp"},
		{program: "verdict_fortran_kept", kind: "lock_orphaned", certainty: "likely", threads: 2,
			says: []string{"lock cache", "nobody will release"}},
		{program: "verdict_fortran_turns", args: []string{"0"}, kind: "deadlock", threads: 2,
			waits: []string{"lock log_lock", "ordered"}, says: []string{"waiting for the turn in an ordered loop",
				"journal::early"}},
		{program: "verdict_fortran_turns", args: []string{"1"}},
		{program: "verdict_fortran_unordered", args: []string{"0"}, kind: "doacross_stuck", certainty: "certain",
			threads: anyNumber, says: []string{"NO ORDERED CLAUSE", "in journal::log_row"},
			llvm: []string{"2 threads wait"}},
		{program: "verdict_fortran_unordered", args: []string{"1"}},
		{program: "verdict_fortran_tasks", args: []string{"0"}, kind: "deadlock", threads: 2,
			waits: []string{"lock table", "taskwait"}, says: []string{"it runs the task", "queue::child"}},
		{program: "verdict_fortran_tasks", args: []string{"1"}, kind: "deadlock", threads: 2,
			waits: []string{"lock table", "taskwait"}, says: []string{"it runs the task"}},
		{program: "verdict_fortran_tasks", args: []string{"2"}},
		{program: "verdict_fortran_unit", only: "libgomp", kind: "deadlock", threads: 2,
			waits: []string{"critical ledger", "mutex of Fortran unit"}, // without its number
			says: []string{"report::book", "report::total", "mutex of Fortran unit 20",
				"call no function in the list of an I/O statement"}},
		{program: "verdict_fortran_unit", args: []string{"1"}},
		{program: "verdict_fortran_one", args: []string{"0"}, kind: "one_thread", certainty: "certain", threads: 1,
			says: []string{"called omp_set_num_threads(1)"}},
		{program: "verdict_fortran_one", args: []string{"1"}, only: "libgomp", kind: "one_thread", info: true,
			certainty: "certain", threads: 1, says: []string{"num_threads"}},
		{program: "verdict_fortran_one", args: []string{"2"}, only: "libgomp", kind: "one_thread", info: true,
			certainty: "certain", threads: 1, says: []string{"if clause was false"}},
	}...)
}

// fortranDeaths returns programs that die.
func fortranDeaths() []expectation {
	return []expectation{
		{program: "verdict_fortran_died", args: []string{"0"}, crash: true, kind: "stack_overflow", threads: 1,
			env: []string{"OMP_STACKSIZE=2M"}, says: []string{"stack of 2M", "grid::mean", "large arrays"}},
		{program: "verdict_fortran_died", args: []string{"1"}, crash: true, kind: "crash", certainty: "certain",
			threads: 1, says: []string{"dereferenced a null pointer in grid::fill verdict_fortran_died.f90:46",
				"it holds lock rows, which thread 0"}},
		{program: "verdict_fortran_died", args: []string{"2"}, crash: true, kind: "stack_overflow", threads: 1,
			says: []string{"grid::smooth", "recursion"}},
		{program: "verdict_fortran_died", args: []string{"3"}, only: "libgomp", crash: true, kind: "crash",
			certainty: "certain", threads: 1, says: []string{"dereferenced a null pointer in _gfortran_",
				" (libgfortran.so", "), called at ", "verdict_fortran_died.f90:74"}},
	}
}

// fortranIterations returns loops with dependences, which flang 19 does not support yet.
func fortranIterations() []expectation {
	out := []expectation{
		{program: "verdict_fortran_doacross", args: []string{"0"}, only: "libgomp", kind: "doacross_stuck",
			certainty: "certain", threads: 1, says: []string{"waits for iteration 2 of a loop", "rows::sweep"}},
		{program: "verdict_fortran_doacross", args: []string{"1"}, only: "libgomp"},
	}
	for way, says := range []string{"2", "2", "(2, 2)", "2", "2"} {
		out = append(out, twins(expectation{
			program: "verdict_fortran_doacross_steps", args: []string{strconv.Itoa(way)}, only: "libgomp",
			kind: "doacross_stuck", certainty: "certain", threads: 1,
			says: []string{"waits for iteration " + says + " of a loop", "depend(source)"},
		}, strconv.Itoa(way), "1")...)
	}
	return out
}

// fortranLanes returns the lanes in which programs in Fortran run: one of each compiler in a short run, a core
// and a process.
func fortranLanes() []e2e.Lane {
	return slices.DeleteFunc(e2e.Lanes(), func(l e2e.Lane) bool {
		return !omptest.Full() && !slices.Contains([]string{"libgomp-bookworm-O2", "libomp-16-O1-live"}, l.String())
	})
}

// TestFortranVerdicts is TestVerdicts for Fortran.
func TestFortranVerdicts(t *testing.T) {
	for _, l := range fortranLanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			checkVerdicts(t, l, fortranVerdicts())
		})
	}
}
