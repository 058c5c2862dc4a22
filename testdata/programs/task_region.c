/* A region in an undeferred task in a task in a region: thread 0 of the inner team triggers from a
 * function of its own, thread 1 works. */
#include "truth.h"

static volatile int started;

__attribute__((noinline)) static void stop(void) {
  truth_trigger("work_parallel", 1);
  started++; /* keeps the call from becoming a jump */
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(1)
  {
    int root = truth_tid();
    truth_region(__LINE__ - 3, root);
#pragma omp task
    {
#pragma omp task if (0)
      {
#pragma omp parallel num_threads(2)
        {
          truth_region(__LINE__ - 2, root);
          if (omp_get_thread_num() == 0)
            stop();
          TRUTH_HOLD("work_parallel");
        }
        started++; /* the same */
      }
      started++; /* the same */
    }
#pragma omp taskwait
    started++; /* the same */
  }
  return 0;
}
