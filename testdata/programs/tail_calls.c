/* Regions that end in calls of the runtime, which compilers make jumps: for a barrier, and the release of a critical
 * section; its return address is then that of the caller of the region's function. */
#include "truth.h"

static int sums[2];

__attribute__((noinline)) static void regions(void) {
  sums[0] = sums[1] = 0;
#pragma omp parallel num_threads(2)
  {
    sums[omp_get_thread_num()]++;
#pragma omp barrier
  }
#pragma omp parallel num_threads(2)
  {
#pragma omp critical(sum)
    sums[0]++;
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  regions();
  return sums[0] != 3;
}
