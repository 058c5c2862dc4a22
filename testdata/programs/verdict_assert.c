/* An assertion fails in a member of a team. */
#include "truth.h"
#include <assert.h>

__attribute__((noinline)) static void check(int balance) {
  assert(balance >= 0);
  truth_hold("work_parallel", 1);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_await(1);
      truth_write(1);
      check(-1);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
