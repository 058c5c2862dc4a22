/* Thread 0 holds a nestable lock twice and works; threads 1 and 2 wait for it. */
#include "truth.h"

static omp_nest_lock_t lock;
static volatile int held;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      omp_set_nest_lock(&lock);
      omp_set_nest_lock(&lock);
      truth_set(&held);
      truth_trigger("work_parallel", 2);
    }
    truth_until(&held);
    TRUTH_WAIT("wait_lock", &lock, __LINE__ + 1);
    omp_set_nest_lock(&lock);
    TRUTH_NEVER();
  }
  return 0;
}
