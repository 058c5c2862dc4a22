/* Thread 1 runs a task that three others depend on: two read its output,
 * and one writes it again after them. Thread 0, which created them, works. */
#include "truth.h"

static volatile int created, started;
static int x;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task depend(out : x)
      {
        truth_set(&started);
        truth_until(&created);
        truth_tasks("running", 1, __LINE__ - 4, truth_tid());
        truth_trigger("work_parallel", 1);
      }
      for (int i = 0; i < 2; i++)
#pragma omp task depend(in : x)
        TRUTH_NEVER();
      truth_tasks("blocked", 2, __LINE__ - 2, 0);
#pragma omp task depend(inout : x)
      TRUTH_NEVER();
      truth_tasks("blocked", 1, __LINE__ - 2, 0);
      truth_set(&created);
      truth_until(&started);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_JOIN_TASKS(__LINE__ - 26);
  }
  return 0;
}
