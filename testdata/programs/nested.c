/* Two active levels: an outer team of two, each with an inner team of three. One thread of each
 * inner team is missing at a barrier; that of inner team 0 triggers, that of inner team 1 works. */
#include "truth.h"

static void inner(void) {
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 2) {
      if (omp_get_ancestor_thread_num(1) == 0)
        truth_trigger("work_parallel", 5);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    inner();
  }
  return 0;
}
