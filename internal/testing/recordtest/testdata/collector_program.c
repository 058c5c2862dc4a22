/* collector_program.c: the program for collector_profiler.c: a region of three threads; one of them forks another
 * region of two. Each thread works until it was sampled, so that there are samples even on a busy machine.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

extern int collector_samples(uint64_t *region);

enum { ENOUGH = 40 };

/* burn works until the thread was sampled often enough in its region. */
__attribute__((noinline)) void burn(int more) {
  uint64_t region, first;
  volatile double x = 1;
  while (collector_samples(&first) == 0) x = x * 1.0000001;
  int begun = collector_samples(&first), n;
  do {
    for (int i = 0; i < 1000; i++) x = x * 1.0000001;
    n = collector_samples(&region);
  } while (region == first && n < begun + more);
}

__attribute__((noinline)) void deep(void) {
#pragma omp parallel num_threads(2)
  {
    burn(ENOUGH);
    __asm__ volatile("");
  }
  __asm__ volatile("");
}

__attribute__((noinline)) void solve(void) {
#pragma omp parallel num_threads(3)
  {
    burn(ENOUGH);
#pragma omp barrier
    if (omp_get_thread_num() == 0) burn(2 * ENOUGH); /* the others wait */
#pragma omp barrier
    if (omp_get_thread_num() == 1) deep();
    __asm__ volatile("");
  }
  __asm__ volatile("");
}

int main(void) {
  omp_set_max_active_levels(2);
  solve();
  printf("READY\n");
  return 0;
}
