/* An explicit barrier of four threads that three have reached: thread 3 never comes. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 3)
      truth_trigger("work_parallel", 3);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
