/* forks.c: threads of a region fork nested ones repeatedly. */
#include <omp.h>

static volatile int sum;

int main(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      sum++;
#pragma omp barrier
#pragma omp for
      for (int j = 0; j < 4; j++)
        sum += j;
    }
#pragma omp barrier
  }
}
