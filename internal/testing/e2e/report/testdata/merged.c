/* merged.c: two locks in both orders. Optimized, the calls of both branches become one without a line. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static omp_lock_t a, b;
static atomic_int taken;
static volatile int sum;

int main(void) {
  omp_init_lock(&a);
  omp_init_lock(&b);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      omp_set_lock(&a);
      taken++;
      while (taken < 2)
        usleep(1000);
      omp_set_lock(&b);
      sum++;
      omp_unset_lock(&b);
      omp_unset_lock(&a);
    } else {
      omp_set_lock(&b);
      taken++;
      while (taken < 2)
        usleep(1000);
      omp_set_lock(&a);
      sum++;
      omp_unset_lock(&a);
      omp_unset_lock(&b);
    }
  }
  printf("%d\n", sum);
}
