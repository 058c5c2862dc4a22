/* Looks like a deadlock but is healthy: each of two threads acquired and released the
 * lock that the other waits for; a third thread, which works, now holds both locks. */
#include "truth.h"

static omp_lock_t first, second;
static volatile int done, held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void swap(omp_lock_t *mine, omp_lock_t *other) {
  omp_set_lock(mine);
  __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
  omp_unset_lock(mine);
  truth_until(&held);
  TRUTH_WAIT("wait_lock", other, __LINE__ + 1);
  omp_set_lock(other);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void take(omp_lock_t *a, omp_lock_t *b) {
  while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  omp_set_lock(a);
  omp_set_lock(b);
  truth_set(&held);
  TRUTH_HOLD("work_parallel");
  omp_unset_lock(b);
  omp_unset_lock(a);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&first);
  omp_init_lock(&second);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 0)
      swap(&first, &second);
    else if (me == 1)
      swap(&second, &first);
    else
      take(&first, &second);
  }
  return 0;
}
