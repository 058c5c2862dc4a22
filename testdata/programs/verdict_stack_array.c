/* A worker has an array on its stack that is larger than the stack. */
#include "truth.h"

TRUTH_ENV("OMP_STACKSIZE", "2M")

__attribute__((noinline)) static double mean(int n) {
  double all[1 << 20]; /* 8 MiB */
  double sum = 0;
  for (int i = 0; i < n; i++)
    all[i] = i;
  for (int i = 0; i < n; i++)
    sum += all[(i * 7) % n];
  return sum / n;
}

int main(int argc, char **argv) {
  double m = 0;
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_write(1);
      m = mean(1 << 20);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return m > 0;
}
