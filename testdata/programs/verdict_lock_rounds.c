/* A thread waits for the lock that it acquired itself, in an earlier round of the same
 * region, by one of two calls before the barrier at which thread 0 is now: by its code,
 * thread 0 may hold it too. "1": it does not, and one more thread, which works, holds it. */
#include "truth.h"

static omp_lock_t cache;
static volatile int passed, taken, filled, healthy;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&cache);
  pthread_create(&observer, NULL, look, (void *)(long)(healthy ? 2 : 3));
  for (int round = 0; round < 2; round++) {
#pragma omp parallel num_threads(3)
    {
      int thread = omp_get_thread_num();
      if (thread == 1 && (round == 1 || !healthy)) {
        truth_until(round && healthy ? &taken : &passed);
        if (round == 1) {
          TRUTH_WAIT("wait_lock", &cache, __LINE__ + 1);
          omp_set_lock(&cache);
          filled = 2;
        } else {
          omp_set_lock(&cache);
          filled = 1;
        }
      }
      if (thread == 2) {
        if (round == 1 && !healthy)
          TRUTH_WAIT("wait_lock", &cache, __LINE__ + 1);
        omp_set_lock(&cache);
        truth_set(&passed);
        while (round == 1 && healthy) {
          truth_set(&taken);
          pause();
        }
        omp_unset_lock(&cache);
      }
      if (thread == 0 && round == 1)
        TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    }
  }
  return 0;
}
