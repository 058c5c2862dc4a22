/* A deferred target task, which runs on the host in a hidden helper thread and stays there. The
 * initial thread works meanwhile. */
#include "truth.h"

static volatile int started;

static void on_helper(int line) {
  truth_slot()->role = "helper";
  truth_tasks_of("target", "running", 1, line, truth_tid());
  truth_set(&started);
  TRUTH_HOLD("work_parallel");
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp target nowait
      on_helper(__LINE__ - 1);
      truth_until(&started);
      truth_trigger("work_parallel", 2);
    }
    TRUTH_JOIN_TASKS(__LINE__ - 9);
  }
  return 0;
}
