/* Parallel regions within each other, argv[2] levels deep: the outermost has
 * two threads, and thread 0 alone executes the others. The innermost stays. */
#include "truth.h"

static volatile long sink;

__attribute__((noinline)) static void descend(long level, long end) {
  if (level == end)
    truth_trigger("work_parallel", 1);
#pragma omp parallel num_threads(2)
  {
    descend(level + 1, end);
    sink++;
  }
  sink--;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  long end = truth_arg(argc, argv, 1, 200);
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      descend(1, end);
      TRUTH_NEVER();
    }
    TRUTH_HOLD("work_parallel");
  }
  return 0;
}
