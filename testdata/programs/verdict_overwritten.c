/* A thread of a region writes past the end of a block of the heap (0),
 * until the runtime's data on the team, or on the thread, is overwritten
 * as well, and the program ends itself; or it writes the block alone (1). */
#include "truth.h"

int main(int argc, char **argv) {
  long healthy = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  long *block = malloc(200);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      truth_await(3), truth_write(1);
      for (volatile long *p = block; healthy ? p < block + 25 : omp_get_num_threads() == 4; p++)
        *p = 0;
      abort();
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
