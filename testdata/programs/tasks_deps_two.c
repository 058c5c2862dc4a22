/* Thread 1 runs a task that another one depends on by
 * two variables. Thread 0, which created both, works. */
#include "truth.h"

static volatile int created, started;
static int x, y;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task depend(out : x, y)
      {
        truth_set(&started);
        truth_until(&created);
        truth_tasks("running", 1, __LINE__ - 4, truth_tid());
        truth_trigger("work_parallel", 1);
      }
#pragma omp task depend(in : x, y)
      TRUTH_NEVER();
      truth_tasks("blocked", 1, __LINE__ - 2, 0);
      truth_set(&created);
      truth_until(&started);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_JOIN_TASKS(__LINE__ - 16);
  }
  return 0;
}
