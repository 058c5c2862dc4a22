/* An ordered loop of three threads: iteration 0 is in its ordered region, 1 and 2 wait for it. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 3; i++) {
      if (i > 0)
        TRUTH_WAIT("wait_ordered", 0, __LINE__ + 1);
#pragma omp ordered
      {
        truth_trigger("work_parallel", 2);
        TRUTH_NEVER();
      }
    }
  }
  return 0;
}
