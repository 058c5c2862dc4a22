/* A barrier of four threads at the end of the function of their region; three have
 * reached it. Optimised by GCC, the call is a jump, and the function has no frame. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 3)
      truth_trigger("work_parallel", 3);
    truth_enter(TRUTH_ASLEEP, "wait_barrier", 0, "", "", 0);
#pragma omp barrier
  }
  return 0;
}
