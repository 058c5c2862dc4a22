/* Each task creates a child and waits for it: without end, until the stack of thread 0
 * is exhausted, or down to argv[2] tasks; the innermost stays. Thread 1 takes no task. */
#include "truth.h"

static volatile long sink;

__attribute__((noinline)) static void descend(long depth, long end) {
  if (depth == end) {
    truth_trigger("work_parallel", 1);
  }
#pragma omp task firstprivate(depth, end)
  {
    descend(depth + 1, end);
    sink++;
  }
#pragma omp taskwait
  sink--;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  long end = truth_arg(argc, argv, 1, 0);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      if (end > 0) {
        truth_tasks("waiting", end - 1, __LINE__ - 16, truth_tid());
        truth_tasks("running", 1, __LINE__ - 17, truth_tid());
      } else {
        truth_write(1);
        end = -1;
      }
      descend(0, end);
      TRUTH_NEVER();
    }
    TRUTH_HOLD("work_parallel");
  }
  return 0;
}
