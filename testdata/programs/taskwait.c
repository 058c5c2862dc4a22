/* Thread 0 waits in a taskwait for a task that thread 1 runs; thread 2 waits at the barrier. */
#include "truth.h"

static volatile int started;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task
      {
        truth_set(&started);
        truth_tasks("running", 1, __LINE__ - 3, truth_tid());
        truth_trigger("work_parallel", 2);
      }
      truth_until(&started);
      TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
    }
    TRUTH_JOIN_TASKS(__LINE__ - 14);
  }
  return 0;
}
