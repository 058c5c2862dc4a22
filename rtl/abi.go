package rtl

import "strings"

// This file names the functions that compilers put into programs, and the variables
// of critical sections, whatever runtime serves them: several serve what another's
// compiler calls.

// lockCalls are the functions that compilers and programs call for locks and
// critical sections.
var lockCalls = map[string]LockCall{
	"omp_set_lock": {Set: true, Family: FamilyLock}, "__kmpc_set_lock": {Arg: 2, Set: true, Family: FamilyLock},
	"omp_unset_lock": {Unset: true, Family: FamilyLock}, "__kmpc_unset_lock": {Arg: 2, Unset: true, Family: FamilyLock},
	"omp_test_lock": {Try: true, Family: FamilyLock}, "__kmpc_test_lock": {Arg: 2, Try: true, Family: FamilyLock},
	"omp_destroy_lock": {Unset: true, Family: FamilyLock}, "omp_init_lock": {Unset: true, Family: FamilyLock},
	"omp_set_nest_lock": {Set: true, Family: FamilyNest}, "__kmpc_set_nest_lock": {Arg: 2, Set: true, Family: FamilyNest},
	"omp_unset_nest_lock": {Unset: true, Family: FamilyNest}, "__kmpc_unset_nest_lock": {Arg: 2, Unset: true, Family: FamilyNest},
	"omp_test_nest_lock": {Try: true, Family: FamilyNest}, "__kmpc_test_nest_lock": {Arg: 2, Try: true, Family: FamilyNest},
	"__kmpc_critical": {Arg: 2, Set: true, Family: FamilyCritical}, "__kmpc_critical_with_hint": {Arg: 2, Set: true, Family: FamilyCritical},
	"__kmpc_end_critical": {Arg: 2, Unset: true, Family: FamilyCritical},
	"GOMP_critical_start": {Arg: -1, Set: true, Family: FamilyCritical}, "GOMP_critical_end": {Arg: -1, Unset: true, Family: FamilyCritical},
	"GOMP_critical_name_start": {Set: true, Family: FamilyCritical}, "GOMP_critical_name_end": {Unset: true, Family: FamilyCritical},
	"__kmpc_reduce": {Arg: 6, Try: true, Family: FamilyReduction}, "__kmpc_end_reduce": {Arg: 2, Unset: true, Family: FamilyReduction},
	"__kmpc_reduce_nowait": {Arg: 6, Try: true, Family: FamilyReduction}, "__kmpc_end_reduce_nowait": {Arg: 2, Unset: true, Family: FamilyReduction},
	"GOMP_atomic_start": {Arg: -1, Set: true, Family: FamilyAtomic}, "GOMP_atomic_end": {Arg: -1, Unset: true, Family: FamilyAtomic},
	"__kmpc_atomic_start": {Arg: -1, Set: true, Family: FamilyAtomic}, "__kmpc_atomic_end": {Arg: -1, Unset: true, Family: FamilyAtomic},
	"pthread_mutex_lock": {Set: true, Family: FamilyMutex}, "pthread_mutex_unlock": {Unset: true, Family: FamilyMutex},
	"omp_fulfill_event":     {Unset: true, Family: FamilyEvent},
	"pthread_mutex_trylock": {Try: true, Family: FamilyMutex},
	"pthread_cond_signal":   {Unset: true, Family: FamilyCondition}, "pthread_cond_broadcast": {Unset: true, Family: FamilyCondition},
	"_ZNSt18condition_variable10notify_oneEv": {Unset: true, Family: FamilyCondition}, "_ZNSt18condition_variable10notify_allEv": {Unset: true, Family: FamilyCondition},
	"_ZNSt3__118condition_variable10notify_oneEv": {Unset: true, Family: FamilyCondition}, "_ZNSt3__118condition_variable10notify_allEv": {Unset: true, Family: FamilyCondition},
}

// LockCallOf tells what the function of that name does with a lock. The name may
// have a symbol version, or the underscore of Fortran's names.
func LockCallOf(name string) (LockCall, bool) {
	name, _, _ = strings.Cut(name, "@")
	if c, ok := lockCalls[name]; ok {
		return c, true
	}
	c, ok := lockCalls[strings.TrimSuffix(strings.ToLower(name), "_")]
	return c, ok
}

// BindingVariables are the environment variables that bind threads to processors.
func BindingVariables() []string {
	return []string{"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}
}

// SpinVariables are the environment variables that say for how long threads spin
// while they wait, and the values that stand for all the time, in small letters.
func SpinVariables() (names, always []string) {
	return []string{"OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"}, []string{"active", "infinite", "infinity"}
}

// MakesEvent tells whether the function of that name makes the event of a detached
// task.
func MakesEvent(name string) bool { return name == "__kmpc_task_allow_completion_event" }

// CriticalName is the name of the critical section whose variable has the given
// symbol, empty for the unnamed one; not ok if it is no such symbol.
func CriticalName(symbol string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimPrefix(symbol, "."), "gomp_critical_user_")
	return strings.TrimSuffix(name, ".var"), ok
}

// ForkCall is what a function has to do with the size of a region that is forked
// next.
type ForkCall uint8

// The kinds of such functions.
const (
	ForkNone   ForkCall = iota
	ForkAsks            // asks for a number of threads, its third argument
	ForkSerial          // begins a region that this thread executes alone
	ForkMakes           // executes a region
)

// ForkCallOf classifies a function by name; undo tells that it ends what another
// of its kind began.
func ForkCallOf(name string) (kind ForkCall, undo bool) {
	switch name {
	case "__kmpc_push_num_threads", "__kmpc_push_num_threads_strict":
		return ForkAsks, false
	case "__kmpc_serialized_parallel":
		return ForkSerial, false
	case "__kmpc_end_serialized_parallel":
		return ForkSerial, true
	case "__kmpc_fork_call", "__kmpc_fork_call_if", "__kmpc_fork_teams", "GOMP_teams_reg":
		return ForkMakes, false
	}
	if _, ok := ForkSize(name); ok {
		return ForkMakes, false
	}
	return ForkNone, false
}

// ForkSize is the integer argument of a function that executes a region which is
// the number of threads of its num_threads clause: 0 if it has none, and 1 also if
// its if clause is false. It is not ok for a function that has no such argument.
func ForkSize(name string) (arg int, ok bool) {
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "GOMP_parallel", "GOMP_parallel_sections", "GOMP_parallel_reductions", "GOMP_parallel_start":
		return 2, true
	}
	return 2, strings.HasPrefix(name, "GOMP_parallel_loop_")
}
