/* Thread 0 of two has created 20 explicit tasks (or argv[2]); all are unstarted,
 * as both threads stay in user code, away from every scheduling point. */
#include "truth.h"

static volatile int created;
static volatile long ran;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  long count = truth_arg(argc, argv, 1, 20);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      for (long i = 0; i < count; i++)
#pragma omp task
        ran += i;
      truth_tasks("queued", count, __LINE__ - 2, 0);
      truth_set(&created);
      TRUTH_HOLD("work_parallel");
    }
    truth_until(&created);
    truth_trigger("work_parallel", 1);
  }
  return 0;
}
