/* The implicit barrier of a worksharing loop of four threads: thread 3 is still in its iteration. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(static)
    for (int i = 0; i < 4; i++) {
      if (omp_get_thread_num() == 3)
        truth_trigger("work_parallel", 3);
      TRUTH_SLEEP("wait_barrier_implicit_workshare", 0, __LINE__ - 4);
    }
    TRUTH_NEVER();
  }
  return 0;
}
