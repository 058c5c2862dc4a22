/* A thread releases a lock that it does not hold, and
 * the runtime, with checks enabled, ends the program. */
#include "truth.h"

static omp_lock_t ledger;

__attribute__((noinline)) static void close_ledger(void) {
  omp_unset_lock(&ledger);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  setenv("KMP_CONSISTENCY_CHECK", "all", 1);
  omp_init_lock(&ledger);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_await(1);
      truth_write(1);
      close_ledger();
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
