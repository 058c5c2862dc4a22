/* Looks like a child after fork that has lost its runtime's threads, but is not: argv[2] selects whether the
 * parent had a region before the fork. A runtime that starts again in a child does not know that region. */
#include "truth.h"

static volatile int together;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  if (truth_arg(argc, argv, 1, 0)) {
#pragma omp parallel num_threads(3)
    __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
  }
  if (fork() != 0)
    for (alarm(TRUTH_LIMIT_S);;)
      pause();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      TRUTH_HOLD("work_parallel");
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
