/* An explicit barrier of three threads: one is missing, the others spin and never sleep. */
#include "truth.h"

TRUTH_ENV("KMP_BLOCKTIME", "infinite")

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      truth_trigger("work_parallel", 2);
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
