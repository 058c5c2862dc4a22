/* A signal interrupts a thread that waits for a lock, and its handler acquires the same lock ("0") or another one ("1"),
 * which LLVM's runtime does not expect: it ends the program.
 * "2": the handler only counts, and the lock's holder works. */
#include "truth.h"

static omp_lock_t ledger, notes;
static volatile sig_atomic_t signals;
static volatile int handled;
static int way;

static void note(int signal) {
  (void)signal;
  signals++;
  if (way < 2) {
    omp_set_lock(way == 0 ? &ledger : &notes);
    omp_unset_lock(way == 0 ? &ledger : &notes);
  }
  truth_set(&handled);
}

__attribute__((noinline)) static void enter(void) {
  TRUTH_WAIT("wait_lock", &ledger, __LINE__ + 1);
  omp_set_lock(&ledger);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  volatile pthread_t waiter = 0;
  way = (int)truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&ledger);
  omp_init_lock(&notes);
  signal(SIGUSR1, note);
  omp_set_lock(&ledger);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      waiter = pthread_self();
      enter();
    }
    truth_await(1);
    if (way == 1)
      omp_set_lock(&notes);
    truth_write(1);
    pthread_kill(waiter, SIGUSR1);
    truth_until(&handled);
    truth_trigger("work_parallel", 1);
  }
  return 0;
}
