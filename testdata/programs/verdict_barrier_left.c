/* One thread waits at a barrier that only it reaches: the other has left the region. */
#include "truth.h"

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  long who = truth_arg(argc, argv, 1, 1); /* the thread at the barrier */
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == who) {
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    }
    TRUTH_JOIN(__LINE__ - 7);
  }
  return 0;
}
