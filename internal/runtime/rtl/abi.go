package rtl

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
)

// This file lists the functions that compilers call, and the variables of critical sections, for all runtimes:
// several runtimes serve the calls of another runtime's compiler.

// lockCalls maps the functions that compilers and programs call for locks and critical sections to their effect.
var lockCalls = map[string]LockCall{
	"omp_set_lock": {Set: true, Family: FamilyLock}, "__kmpc_set_lock": {Arg: 2, Set: true, Family: FamilyLock},
	"omp_unset_lock": {Unset: true, Family: FamilyLock}, "__kmpc_unset_lock": {Arg: 2, Unset: true, Family: FamilyLock},
	"omp_test_lock": {Try: true, Family: FamilyLock}, "__kmpc_test_lock": {Arg: 2, Try: true, Family: FamilyLock},
	"omp_destroy_lock":     {Unset: true, Makes: true, Family: FamilyLock},
	"omp_init_lock":        {Unset: true, Makes: true, Family: FamilyLock},
	"omp_set_nest_lock":    {Set: true, Family: FamilyNest},
	"__kmpc_set_nest_lock": {Arg: 2, Set: true, Family: FamilyNest},
	"omp_unset_nest_lock":  {Unset: true, Family: FamilyNest}, "__kmpc_unset_nest_lock": {Arg: 2, Unset: true,
		Family: FamilyNest},
	"omp_test_nest_lock":    {Try: true, Family: FamilyNest},
	"__kmpc_test_nest_lock": {Arg: 2, Try: true, Family: FamilyNest},
	"__kmpc_critical":       {Arg: 2, Set: true, Family: FamilyCritical},
	"__kmpc_critical_with_hint": {Arg: 2, Set: true,
		Family: FamilyCritical},
	"__kmpc_end_critical":      {Arg: 2, Unset: true, Family: FamilyCritical},
	"GOMP_critical_start":      {Arg: -1, Set: true, Family: FamilyCritical},
	"GOMP_critical_end":        {Arg: -1, Unset: true, Family: FamilyCritical},
	"GOMP_critical_name_start": {Set: true, Family: FamilyCritical},
	"GOMP_critical_name_end":   {Unset: true, Family: FamilyCritical},
	"__kmpc_reduce":            {Arg: 6, Try: true, Family: FamilyReduction},
	"__kmpc_end_reduce":        {Arg: 2, Unset: true, Family: FamilyReduction},
	"__kmpc_reduce_nowait":     {Arg: 6, Try: true, Family: FamilyReduction},
	"__kmpc_end_reduce_nowait": {Arg: 2, Unset: true, Family: FamilyReduction},
	"GOMP_atomic_start":        {Arg: -1, Set: true, Family: FamilyAtomic},
	"GOMP_atomic_end":          {Arg: -1, Unset: true, Family: FamilyAtomic},
	"__kmpc_atomic_start":      {Arg: -1, Set: true, Family: FamilyAtomic},
	"__kmpc_atomic_end":        {Arg: -1, Unset: true, Family: FamilyAtomic},
	"omp_fulfill_event":        {Unset: true, Family: FamilyEvent},
	"__cxa_guard_acquire":      {Set: true, Family: FamilyStatic},
	"__cxa_guard_release":      {Unset: true, Family: FamilyStatic},
	"__cxa_guard_abort":        {Unset: true, Family: FamilyStatic},
}

// libraryCalls maps the C library's functions for locks and conditions to their effect, under their own names
// and those of the C and C++ standards. std::mutex is pthread_mutex_lock and _unlock in compiled code. A name
// that looks like a lock call and is missing here counts as unknown (LockLike).
var libraryCalls = map[string]LockCall{
	"pthread_mutex_lock": {Set: true, Family: FamilyMutex}, "pthread_mutex_unlock": {Unset: true, Family: FamilyMutex},
	"pthread_mutex_trylock":   {Try: true, Family: FamilyMutex},
	"pthread_mutex_timedlock": {Try: true, Family: FamilyMutex},
	"pthread_mutex_clocklock": {Try: true, Family: FamilyMutex},
	"pthread_mutex_init":      {Unset: true, Makes: true, Family: FamilyMutex},
	"pthread_mutex_destroy":   {Unset: true, Makes: true, Family: FamilyMutex},
	"mtx_lock":                {Set: true, Family: FamilyMutex}, "mtx_unlock": {Unset: true, Family: FamilyMutex},
	"mtx_trylock": {Try: true, Family: FamilyMutex}, "mtx_timedlock": {Try: true, Family: FamilyMutex},
	"mtx_init":    {Unset: true, Makes: true, Family: FamilyMutex},
	"mtx_destroy": {Unset: true, Makes: true, Family: FamilyMutex},

	"pthread_cond_wait": {Arg: 1, Lends: true, Family: FamilyMutex}, "pthread_cond_timedwait": {Arg: 1, Lends: true,
		Family: FamilyMutex},
	"pthread_cond_clockwait": {Arg: 1, Lends: true, Family: FamilyMutex},
	"cnd_wait":               {Arg: 1, Lends: true, Family: FamilyMutex},
	"cnd_timedwait":          {Arg: 1, Lends: true, Family: FamilyMutex},

	"pthread_cond_signal":                         {Unset: true, Family: FamilyCondition},
	"pthread_cond_broadcast":                      {Unset: true, Family: FamilyCondition},
	"cnd_signal":                                  {Unset: true, Family: FamilyCondition},
	"cnd_broadcast":                               {Unset: true, Family: FamilyCondition},
	"_ZNSt18condition_variable10notify_oneEv":     {Unset: true, Family: FamilyCondition},
	"_ZNSt18condition_variable10notify_allEv":     {Unset: true, Family: FamilyCondition},
	"_ZNSt3__118condition_variable10notify_oneEv": {Unset: true, Family: FamilyCondition},
	"_ZNSt3__118condition_variable10notify_allEv": {Unset: true, Family: FamilyCondition},
	// At the end of the thread, it unlocks the mutex and wakes the waiting threads.
	"_ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE": {Unset: true,
		Family: FamilyCondition},

	"pthread_rwlock_rdlock":      {Set: true, Family: FamilyReadWrite},
	"pthread_rwlock_wrlock":      {Set: true, Alone: true, Family: FamilyReadWrite},
	"pthread_rwlock_tryrdlock":   {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_trywrlock":   {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_timedrdlock": {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_timedwrlock": {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_clockrdlock": {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_clockwrlock": {Try: true, Family: FamilyReadWrite},
	"pthread_rwlock_unlock":      {Unset: true, Family: FamilyReadWrite},
	"pthread_rwlock_init":        {Unset: true, Makes: true, Family: FamilyReadWrite},
	"pthread_rwlock_destroy":     {Unset: true, Makes: true, Family: FamilyReadWrite},
	"pthread_spin_lock":          {Set: true, Family: FamilySpin},
	"pthread_spin_trylock":       {Try: true, Family: FamilySpin},
	"pthread_spin_unlock":        {Unset: true, Family: FamilySpin},
	"pthread_spin_init":          {Unset: true, Makes: true, Family: FamilySpin},
	"pthread_spin_destroy":       {Unset: true, Makes: true, Family: FamilySpin},
	"sem_wait":                   {Set: true, Family: FamilySemaphore},
	"sem_trywait":                {Try: true, Family: FamilySemaphore},
	"sem_timedwait":              {Try: true, Family: FamilySemaphore},
	"sem_clockwait":              {Try: true, Family: FamilySemaphore},
	"sem_post":                   {Unset: true, Family: FamilySemaphore},
	"sem_init":                   {Unset: true, Family: FamilySemaphore},
	"sem_destroy":                {Unset: true, Family: FamilySemaphore},
}

// lockPrefixes lists prefixes of the names of functions for locks and conditions.
var lockPrefixes = []string{
	"pthread_mutex_", "pthread_cond_", "pthread_rwlock_", "pthread_spin_", "sem_", "mtx_", "cnd_",
}

// runningCalls maps functions that call a function of the program, or start a thread with it, to the argument that
// points to the function. The call has the effect of that function. If no argument is known to point to one
// (std::call_once keeps it in a variable of the thread), the effect is unknown.
var runningCalls = map[string]int{
	"pthread_once": 1, "__pthread_once": 1, "call_once": 1,
	"pthread_create": 2, "thrd_create": 1, "clone": 0,
	"qsort": 3, "qsort_r": 3, "bsearch": 4, "lfind": 4, "lsearch": 4, "tsearch": 2, "tfind": 2, "tdelete": 2,
	"twalk": 1, "ftw": 1, "ftw64": 1, "nftw": 1, "nftw64": 1, "dl_iterate_phdr": 0,
}

// RunsArgument returns the index of the integer argument that the named function calls as a function, in this thread
// or in a new one; ok is false for other functions.
func RunsArgument(name string) (arg int, ok bool) {
	name, _, _ = strings.Cut(name, "@")
	arg, ok = runningCalls[name]
	return arg, ok
}

// objectCalls lists prefixes of the names of functions that start a thread with a function that is in an object, or
// make the C library start one later: GNU's std::thread, timers, messages, and input and output in the background.
var objectCalls = []string{
	"_ZNSt6thread15_M_start_thread", "timer_create", "mq_notify", "aio_read", "aio_write", "aio_fsync", "lio_listio",
	"getaddrinfo_a",
}

// RunsObject reports whether the named function starts a thread, now or later, with a function of the program that no
// argument shows.
func RunsObject(name string) bool {
	return slices.ContainsFunc(objectCalls, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ThreadEnders returns the C library's functions that end a thread before its function returns.
func ThreadEnders() []string { return []string{"pthread_exit", "thrd_exit", "pthread_cancel"} }

// EndHandlers returns the functions of the C library and of compilers by which a program sets functions for the end of
// a thread, and, if main is set, for the end of the thread that executes main: that ends the process.
func EndHandlers(main bool) []string {
	out := []string{"pthread_key_create", "tss_create", "__cxa_thread_atexit", "__cxa_thread_atexit_impl"}
	if main {
		out = append(out, "atexit", "on_exit", "__cxa_atexit")
	}
	return out
}

// Releasing returns the functions that release a lock of a family, or wake a thread that waits for it.
func Releasing(family string) (names []string) {
	for _, calls := range []map[string]LockCall{lockCalls, libraryCalls} {
		for name, c := range calls {
			if c.Family == family && c.Unset && !c.Makes {
				names = append(names, name)
			}
		}
	}
	return names
}

// harmlessCalls lists functions with such names that do not change any lock or condition. Functions without such
// names do not change them either: threads wait for a barrier (pthread_barrier_wait), the end of a thread
// (pthread_join, thrd_join) or a message (mq_receive) by other words, and package inspect finds these waiting
// threads.
var harmlessCalls = []string{
	"pthread_mutex_consistent", "pthread_mutex_getprioceiling", "pthread_mutex_setprioceiling",
	"pthread_cond_init", "pthread_cond_destroy", "cnd_init", "cnd_destroy", "sem_getvalue", "sem_open", "sem_close",
	"sem_unlink",
}

// LockLike reports whether the name looks like a C library function for locks or conditions that LockCallOf does
// not know: its effect is unknown.
func LockLike(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	if _, ok := LockCallOf(name); ok || slices.Contains(harmlessCalls, name) {
		return false
	}
	return slices.ContainsFunc(lockPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// LockCallOf returns the effect of the named function on a lock; ok is false if it does not use locks. The name
// may have a symbol version, or the underscore of Fortran's names.
func LockCallOf(name string) (LockCall, bool) {
	name, _, _ = strings.Cut(name, "@")
	if c, ok := lockCalls[name]; ok {
		return c, true
	}
	if c, ok := libraryCalls[name]; ok {
		return c, true
	}
	c, ok := lockCalls[strings.TrimSuffix(strings.ToLower(name), "_")]
	return c, ok
}

// opaqueModules lists prefixes of the file names of libraries that send messages between processes, and of the
// libraries below them. They call back into the program only through functions that it passed to them, and do
// not use its OpenMP locks.
var opaqueModules = []string{
	"libmpi.", "libmpi_", "libmpich", "libmpicxx", "libmpifort", "libpmpi", "libopen-rte.", "libopen-pal.", "libprrte.",
	"libpmix.", "mca_", "libpmi.", "libpmi2.", "libucp.", "libuct.", "libuct_", "libucs.", "libucm.", "libucc.",
	"libfabric.", "libpsm2.",
	"libpsm_infinipath.", "libibverbs.", "librdmacm.", "libmlx5.", "libmlx4.", "libhwloc.", "libevent", "libslurm",
}

// OpaqueModule reports whether the library with that file name calls the program's code only through functions
// that it was passed, and does not use OpenMP locks: its code need not be followed. It may wake threads of its
// own.
func OpaqueModule(base string) bool {
	return slices.ContainsFunc(opaqueModules, func(p string) bool { return strings.HasPrefix(base, p) })
}

// OpaqueCall is like OpaqueModule for a function by name, in any module: the functions of MPI, in C and Fortran,
// and of its profiling interface.
func OpaqueCall(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	for _, p := range []string{"MPI_", "PMPI_", "mpi_", "pmpi_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Interposes reports whether a function with that name, exported by a module other than the C library, replaces
// one of its functions for locks, conditions or semaphores.
func Interposes(name string) bool {
	_, ok := LockCallOf(name)
	return ok && slices.ContainsFunc(lockPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// handlerSetters are the C library's functions that set signal handlers.
var handlerSetters = []string{
	"sigaction", "__sigaction", "signal", "__sysv_signal", "bsd_signal", "sysv_signal", "sigset",
}

// HandlerSetters returns the C library's functions that set signal handlers, or functions for timers.
func HandlerSetters() []string { return append([]string{"timer_create"}, handlerSetters...) }

// SetsHandler reports whether the named function sets signal handlers.
func SetsHandler(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(handlerSetters, name)
}

// stackSwitches lists functions of the C library and of Boost that continue on another stack, in code that their caller
// does not show.
var stackSwitches = []string{"swapcontext", "setcontext", "jump_fcontext", "ontop_fcontext"}

// StackSwitches returns the functions that switch stacks, as fibers do.
func StackSwitches() []string { return slices.Clone(stackSwitches) }

// SwitchesStack reports whether the named function continues on another stack.
func SwitchesStack(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(stackSwitches, name)
}

// idleCalls lists functions of the C library that only let time pass, and return 0.
var idleCalls = append([]string{"sched_yield", "pthread_yield", "thrd_yield"}, sleepCalls...)

// sleepCalls lists functions that return after a time.
var sleepCalls = []string{"usleep", "nanosleep", "clock_nanosleep", "thrd_sleep", "sleep"}

// LetsTimePass reports whether the named function only lets time pass.
func LetsTimePass(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(idleCalls, strings.TrimLeft(name, "_"))
}

// copyCalls lists functions of the C library that copy memory.
var copyCalls = []string{"memcpy", "memmove", "mempcpy", "memcpy_chk", "memmove_chk", "mempcpy_chk"}

// CopiesMemory reports whether the named function copies memory.
func CopiesMemory(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(copyCalls, strings.TrimLeft(name, "_"))
}

// YieldsTask reports whether the named function may execute other tasks, as a taskyield construct does. A runtime may
// do nothing there.
func YieldsTask(name string) bool { return name == "GOMP_taskyield" || name == "__kmpc_omp_taskyield" }

// Yields reports whether the named function gives up the processor, and returns at once.
func Yields(name string) bool { return LetsTimePass(name) && !Sleeps(name) }

// Sleeps reports whether the named function waits for a given time.
func Sleeps(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(sleepCalls, strings.TrimLeft(name, "_"))
}

// quietCalls lists functions that compilers call, or that return data on the program's threads, without side
// effects. Functions that return the time are not in the list.
var quietCalls = []string{
	"__kmpc_flush", "__kmpc_global_thread_num", "__kmpc_bound_thread_num", "omp_get_thread_num", "omp_get_num_threads",
	"omp_get_max_threads", "omp_in_parallel", "omp_get_level", "omp_get_num_procs", "pthread_self", "sched_getcpu",
}

// ChangesNothing reports whether the named function only returns a value that does not depend on the writes of
// other threads.
func ChangesNothing(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(quietCalls, strings.TrimSuffix(strings.ToLower(name), "_")) ||
		slices.ContainsFunc(watchedReads, func(p string) bool { return strings.HasPrefix(name, p) })
}

// TeamVariables returns the environment variables that determine the size of teams.
func TeamVariables() []string {
	return []string{"OMP_NUM_THREADS", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC"}
}

// BindingVariables returns the environment variables that bind threads to processors.
func BindingVariables() []string {
	return []string{"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}
}

// SpinVariables returns the environment variables that set how long waiting threads spin, and the lower-case
// values that mean without limit.
func SpinVariables() (names, always []string) {
	return []string{"OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"}, []string{"active", "infinite", "infinity"}
}

// MakesEvent reports whether the named function creates the event of a detached task.
func MakesEvent(name string) bool { return name == "__kmpc_task_allow_completion_event" }

// OwnLock is a ticket lock of the runtime's own: the offsets of its words. They are the same in all releases, and the
// only fields that are read of a runtime that is not initialized yet, whose layout is unknown.
type OwnLock struct{ NextTicket, NowServing uint64 }

// OwnLockOf returns the lock of the runtime's own that the named function acquires: its first argument.
func OwnLockOf(name string) (OwnLock, bool) {
	return OwnLock{NextTicket: 24, NowServing: 28}, name == "__kmp_acquire_ticket_lock"
}

// CriticalName returns the name of the critical section with a variable of the given symbol, "" for the unnamed
// one. ok is false for other symbols.
func CriticalName(symbol string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimPrefix(symbol, "."), "gomp_critical_user_")
	return strings.TrimSuffix(name, ".var"), ok
}

// CriticalPrefixes returns the prefixes of such symbols: those of clang and of GCC.
func CriticalPrefixes() []string { return []string{".gomp_critical_user_", "gomp_critical_user_"} }

// NamedByFunction returns the name of a wait id that is the address of a function of GNU's runtime: the recorder
// uses it for objects without a variable of their own. unnamed is the name for the unnamed critical section.
func NamedByFunction(function, unnamed string) string {
	switch function {
	case "GOMP_critical_start":
		return unnamed
	case "GOMP_atomic_start", "GOMP_ordered_start":
		return "construct"
	}
	return ""
}

// ForkCall classifies a function by its effect on the size of the next region.
type ForkCall uint8

// Kinds of such functions.
const (
	ForkNone   ForkCall = iota
	ForkAsks            // requests a number of threads, its third argument
	ForkSerial          // starts a region that this thread executes alone
	ForkMakes           // executes a region
)

// ForkCallOf classifies a function by name; undo is set if it ends the effect of another function of its kind.
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

// LeagueFunction returns the argument that is the function of a teams construct, for a function that executes it with
// each team of a league.
func LeagueFunction(name string) (arg int, ok bool) {
	switch name {
	case "__kmpc_fork_teams":
		return 2, true
	case "GOMP_teams_reg":
		return 0, true
	}
	return 0, false
}

// EndsRegion reports whether the named function ends a region that another function of its runtime forked.
func EndsRegion(name string) bool { return name == "GOMP_parallel_end" }

// ForkSize returns the integer argument with the number of threads of a function that executes a region. The
// argument is that of the num_threads clause, 0 without the clause, and 1 also if the if clause is false. ok is
// false for a function without such an argument.
func ForkSize(name string) (arg int, ok bool) {
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "GOMP_parallel", "GOMP_parallel_sections", "GOMP_parallel_reductions", "GOMP_parallel_start":
		return 2, true
	}
	return 2, strings.HasPrefix(name, "GOMP_parallel_loop_")
}

// BlockingMPI returns the standard's name of an MPI function that returns only after other processes have done
// their part. ok is false for other functions.
func BlockingMPI(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "@")
	name = mpi.Routine(name)
	rest, ok := strings.CutPrefix(name, "MPI_")
	if !ok || strings.HasPrefix(rest, "Test") || rest[0] == 'I' && rest != "Init" && rest != "Init_thread" {
		return "", false
	}
	return name, true
}

// leavingCalls lists functions that leave functions of the program without a return: by an exception, by a jump,
// or by the end of the thread.
var leavingCalls = []string{
	"__cxa_throw", "__cxa_rethrow", "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt17rethrow_exceptionSt13exception_ptr",
	"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "pthread_exit", "thrd_exit",
}

// checkingCalls lists functions that throw if a check of the compiler fails, such as that of a cast.
var checkingCalls = []string{
	"__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_throw_bad_array_new_length", "__cxa_throw_bad_array_length",
}

// Leaves reports whether the named function throws an exception, jumps to an outer caller, or ends the thread.
func Leaves(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(leavingCalls, name) || Checks(name)
}

// Rethrows reports whether the named function throws the exception again that its caller handles.
func Rethrows(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return name == "__cxa_rethrow"
}

// Checks reports whether the named function throws if a check of the language or of its library fails, such as
// that of an index. Most such calls are never executed.
func Checks(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	ofLibrary := strings.HasPrefix(name, "_ZSt") || strings.HasPrefix(name, "_ZNSt3__1") // GNU's, LLVM's
	return slices.Contains(checkingCalls, name) || ofLibrary && strings.Contains(name, "__throw_")
}

// OfConstruct reports whether compilers call the function for constructs.
func OfConstruct(function string) bool {
	return strings.HasPrefix(function, "GOMP_") || strings.HasPrefix(function, "__kmpc_")
}

// ForksTeam reports whether compilers call the named function for a parallel region, which it executes.
func ForksTeam(name string) bool {
	kind, _ := ForkCallOf(name)
	_, league := LeagueFunction(name)
	return kind == ForkMakes && !league
}

// SchedulingPoint returns the construct for which compilers call a function in which the runtime may assign
// another task to the thread; "" for other functions.
func SchedulingPoint(function string) string {
	if !OfConstruct(function) {
		return ""
	}
	for _, c := range []string{"taskwait", "taskgroup", "taskyield", "taskloop", "barrier", "task"} {
		if strings.Contains(function, c) {
			return map[bool]string{true: "task construct", false: c}[c == "task"]
		}
	}
	return ""
}
