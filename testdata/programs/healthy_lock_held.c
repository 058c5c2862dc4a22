/* Looks like a deadlock but is healthy: two threads wait for a lock. Its holder works,
 * holds a second lock, and is about to release both; one thread waits for the second lock. */
#include "truth.h"

static omp_lock_t first, second;
static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void work(void) {
  omp_set_lock(&second);
  omp_set_lock(&first);
  truth_set(&held);
  TRUTH_HOLD("work_parallel");
  omp_unset_lock(&first);
  omp_unset_lock(&second);
}

__attribute__((noinline)) static void follow(omp_lock_t *lock) {
  truth_until(&held);
  TRUTH_WAIT("wait_lock", lock, __LINE__ + 1);
  omp_set_lock(lock);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&first);
  omp_init_lock(&second);
  pthread_create(&observer, NULL, look, (void *)4);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 1)
      work();
    else
      follow(me == 3 ? &second : &first);
  }
  return 0;
}
