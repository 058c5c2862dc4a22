/* Threads wait for a lock that was acquired in an earlier region, by a
 * thread that did not release it and no longer executes code that would. */
#include "truth.h"

static omp_lock_t cache;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void fill(void) {
  omp_set_lock(&cache);
  if (omp_get_num_threads() > 99)
    omp_unset_lock(&cache); /* the way out that was taken lacks this */
}

__attribute__((noinline)) static void use(void) {
  TRUTH_WAIT("wait_lock", &cache, __LINE__ + 1);
  omp_set_lock(&cache);
  TRUTH_NEVER();
  omp_unset_lock(&cache);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&cache);
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 1)
    fill();
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    use();
  }
  return 0;
}
