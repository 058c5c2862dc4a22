/* Looks like a hang but is healthy: three threads wait at a barrier for a fourth, which works in a
 * critical section that another thread will enter later. With argv[2] 1, they may spin there forever. */
#include "truth.h"

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void simulate(void) {
#pragma omp critical(step)
  TRUTH_HOLD("work_parallel");
}

int main(int argc, char **argv) {
  pthread_t observer;
  long spins = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)4);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 2)
      simulate();
    if (spins)
      TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 3);
    else
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
#pragma omp critical(step)
    TRUTH_NEVER();
  }
  return 0;
}
