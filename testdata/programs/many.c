/* A barrier of 256 threads (or argv[2]); all except the last have reached it. */
#include "truth.h"

TRUTH_ENV("KMP_BLOCKTIME", "0") /* so many cannot all spin */

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  int count = (int)truth_arg(argc, argv, 1, 256);
#pragma omp parallel num_threads(count)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == count - 1)
      truth_trigger("work_parallel", count - 1);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
