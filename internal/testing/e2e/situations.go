package e2e

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Situations are the programs of testdata/programs that the matrices run, and the needs of each.
var Situations = []struct {
	Program string
	Args    []string
	Segv    bool // kills itself by SIGSEGV, not by abort
	Debug   bool // is built with -g only: flang writes no unwind tables otherwise
}{
	{Program: "barrier"}, {Program: "barrier_for"}, {Program: "barrier_single"}, {Program: "spinning"},
	{Program: "many"}, {Program: "lock"}, {Program: "nest_lock"}, {Program: "lock_cycle"}, {Program: "critical"},
	{Program: "ordered"}, {Program: "reduction"}, {Program: "taskwait"}, {Program: "taskgroup"},
	{Program: "tasks_queued"}, {Program: "tasks_deps"}, {Program: "nested"}, {Program: "serialized_nested"},
	{Program: "roots"}, {Program: "jumped"}, {Program: "pthreads"}, {Program: "teams"}, {Program: "idle"},
	{Program: "hidden_helper"}, {Program: "cloned"},
	{Program: "crash_task", Segv: true}, {Program: "crash_before"}, {Program: "crash_forming"},
	{Program: "cxx_lambda"}, {Program: "fortran_barrier"}, {Program: "cxx_locks"},
	{Program: "fortran_nested", Debug: true},
}

// SituationTurn reports whether a program of the matrix runs today in a variant on a release. One variant always
// runs, on the releases chosen by the date unless the run is quick; the others take turns.
func SituationTurn(variant string, major int, program string) bool {
	return variant == "kernel" && major == 16 || variant == "others" && !omptest.Quick() ||
		omptest.Turn(RestDays, variant, fmt.Sprint(major), program)
}

// RestDays is the number of days in which each case that does not run every day runs once.
const RestDays = 3

// GompSituations returns the situations that GCC and its runtime support. The runtime executes the teams
// of a league one after the other on the host, and has no hidden helpers.
func GompSituations() []string {
	var out []string
	for _, s := range Situations {
		if s.Program != "teams" && s.Program != "hidden_helper" {
			out = append(out, s.Program)
		}
	}
	return out
}

// AdaptToGCC changes the truth of a program into the part of it that GCC's code shows. That calls
// GOMP_barrier for explicit barriers and for those at the end of worksharing constructs: they can be
// distinguished only in functions without such a construct. A call that GCC adds has the line of a
// statement near by. The runtime puts a thread into the region for which it forms a team.
func AdaptToGCC(program string, truth *omptest.Truth) {
	added := slices.Contains([]string{"barrier_for", "barrier_single", "ordered", "reduction", "taskgroup",
		"serialized_nested"}, program)
	for i := range truth.Threads {
		th := &truth.Threads[i]
		if added && th.State != "work_parallel" {
			th.Function = ""
		}
		if th.State == "wait_barrier_implicit_workshare" {
			th.State = "wait_barrier"
		}
		if program == "crash_forming" {
			th.Level, th.ActiveLevel, th.TeamSize = 1, 1, 6
			th.Ancestors, th.Sizes, th.RegionLines = []int{0, 0}, []int{1, 6}, []int{0, 0}
		}
	}
}

// NestingEnv returns the environment with which a runtime executes nested regions in parallel: before
// GCC 11, omp_set_max_active_levels was not enough.
func NestingEnv(rt omptest.Runtime) []string {
	if rt.Major < 11 {
		return []string{"OMP_NESTED=true"}
	}
	return nil
}
