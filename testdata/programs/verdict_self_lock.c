/* A thread acquires a plain lock that it already holds; another waits for the same lock.
 * With 1 it does so in a task that it executes in a taskwait, while it holds the lock. */
#include "truth.h"

static omp_lock_t once;
static volatile int taken;
static long across;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void again(void) {
  TRUTH_WAIT("wait_lock", &once, __LINE__ + 1);
  omp_set_lock(&once);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void twice(void) {
  omp_set_lock(&once);
  truth_set(&taken);
  if (across) {
#pragma omp task
    again();
#pragma omp taskwait
  } else {
    again();
  }
  omp_unset_lock(&once);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  across = truth_arg(argc, argv, 1, 0);
  omp_init_lock(&once);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      twice();
    } else {
      truth_until(&taken);
      again();
    }
  }
  return 0;
}
