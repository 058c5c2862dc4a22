package rtl

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// standardCalls lists the functions for locks and conditions in C's <threads.h>, and in POSIX's <pthread.h> and
// <semaphore.h>.
var standardCalls = []string{
	"mtx_init", "mtx_lock", "mtx_timedlock", "mtx_trylock", "mtx_unlock", "mtx_destroy",
	"cnd_init", "cnd_signal", "cnd_broadcast", "cnd_wait", "cnd_timedwait", "cnd_destroy",

	"pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock", "pthread_mutex_trylock",
	"pthread_mutex_unlock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_mutex_consistent", "pthread_mutex_getprioceiling",
	"pthread_mutex_setprioceiling",
	"pthread_cond_init", "pthread_cond_destroy", "pthread_cond_signal", "pthread_cond_broadcast", "pthread_cond_wait",
	"pthread_cond_timedwait", "pthread_cond_clockwait",
	"pthread_rwlock_init", "pthread_rwlock_destroy", "pthread_rwlock_rdlock", "pthread_rwlock_tryrdlock",
	"pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_wrlock", "pthread_rwlock_trywrlock",
	"pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock", "pthread_rwlock_unlock",
	"pthread_spin_init", "pthread_spin_destroy", "pthread_spin_lock", "pthread_spin_trylock", "pthread_spin_unlock",
	"sem_init", "sem_destroy", "sem_open", "sem_close", "sem_unlink", "sem_wait", "sem_trywait", "sem_timedwait",
	"sem_clockwait", "sem_post", "sem_getvalue",
}

// TestStandardCalls checks that each such function is known, with any symbol version.
func TestStandardCalls(t *testing.T) {
	for _, name := range standardCalls {
		if LockLike(name) || LockLike(name+"@GLIBC_2.34") {
			t.Errorf("of %s nothing is known", name)
		}
	}
	for name, want := range map[string]bool{
		"pthread_mutex_frobnicate": true, "sem_next": true, // of a future version
		"pthread_barrier_wait": false, "thrd_join": false, "call_once": false, "mq_receive": false,
	} {
		if LockLike(name) != want {
			t.Errorf("%s is like a call for a lock: %v, want %v", name, !want, want)
		}
	}
}

// TestLeaves checks the functions that leave their caller without a return.
func TestLeaves(t *testing.T) {
	for _, name := range append([]string{
		"_ZSt20__throw_length_errorPKc", "_ZSt16__throw_bad_castv@GLIBCXX_3.4",
		"_ZNSt3__120__throw_length_errorB6v15000EPKc", "pthread_exit@@GLIBC_2.34",
	}, leavingCalls...) {
		if !Leaves(name) || !symbolic.NoReturn(name) {
			t.Errorf("%s leaves: %v; does not return: %v", name, Leaves(name), symbolic.NoReturn(name))
		}
	}
	for _, name := range []string{"exit", "_Unwind_Resume", "omp_unset_lock", "_ZNSt6vectorIiE4sizeEv", "main"} {
		if Leaves(name) {
			t.Errorf("%s leaves functions otherwise than by a return", name)
		}
	}
}

func TestWatchedPrograms(t *testing.T) {
	for name, want := range map[string]bool{
		"__tsan_func_entry": true, "__asan_report_load8": true, "__ubsan_handle_type_mismatch_v1": true,
		"__sanitizer_cov_trace_pc": true, "__gcov_merge_add": true, "mcount": true, "_mcount@GLIBC_2.2.5": true,
		"mcounter": false, "asan_work": false, "omp_unset_lock": false, "pthread_mutex_unlock": false,
	} {
		if got := Instrumentation(name); got != want {
			t.Errorf("Instrumentation(%q) = %v", name, got)
		}
	}
	for name, want := range map[string]bool{
		"pthread_mutex_lock": true, "pthread_cond_wait": true, "sem_wait": true, "mtx_lock": true,
		"omp_set_lock": false, "GOMP_critical_start": false, "pthread_create": false, "malloc": false,
	} {
		if got := Interposes(name); got != want {
			t.Errorf("Interposes(%q) = %v", name, got)
		}
	}
}
