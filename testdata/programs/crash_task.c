/* A segmentation fault inside an explicit task, two calls deep, while the thread that made the
 * task waits for it in a taskwait. */
#include "truth.h"

static volatile int started;

__attribute__((noinline)) static void touch(int depth) {
  if (depth > 0)
    touch(depth - 1);
  else
    truth_trigger("work_parallel", 1);
  started++; /* keeps the calls from becoming jumps */
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  if (!strcmp(truth_mode, "abort"))
    truth_mode = "segv";
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task
      {
        truth_set(&started);
        truth_tasks("running", 1, __LINE__ - 3, truth_tid());
        touch(2);
      }
      truth_until(&started);
      TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
      TRUTH_NEVER();
    }
  }
  return 0;
}
