/* Members of a team wait at two different barriers, as if they were one, for a member that works. */
#include "truth.h"

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)4);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 0) {
      TRUTH_HOLD("work_parallel");
    } else if (me % 2) {
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    } else {
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    }
  }
  return 0;
}
