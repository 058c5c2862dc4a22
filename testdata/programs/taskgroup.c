/* Thread 0 waits at the end of a taskgroup for a task that thread 1 or 2 runs; the other one waits
 * at the barrier. */
#include "truth.h"

static volatile int started;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp taskgroup
      {
#pragma omp task
        {
          truth_set(&started);
          truth_tasks("running", 1, __LINE__ - 3, truth_tid());
          truth_trigger("work_parallel", 2);
        }
        truth_until(&started);
        TRUTH_WAIT("wait_taskgroup", 0, __LINE__ + 1);
      }
      TRUTH_NEVER();
    }
    TRUTH_JOIN_TASKS(__LINE__ - 16);
  }
  return 0;
}
