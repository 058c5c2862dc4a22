/* Threads 0 and 1 of a region are in a system call at the end of the region's
 * function: optimised, the call is a jump, and the function has no frame. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 2)
      truth_trigger("work_parallel", 2);
    truth_enter(TRUTH_HELD, "work_parallel", 0, "", "", 0);
    pause();
  }
  return 0;
}
