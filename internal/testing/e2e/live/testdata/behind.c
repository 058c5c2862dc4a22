/* behind.c: a region of two threads, then one of three. */
#include <omp.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noinline)) static void last(void) { sum++; }

int main(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    usleep(300000); /* by then the other one sleeps at the end of the region */
    last();
  }
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    sum++;
  }
}
