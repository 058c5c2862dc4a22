/* sections.c: critical sections that one function and others enter, each a different number of
 * times; then it waits for its standard input. For names of sections without their runtime. */
#include <omp.h>
#include <stdio.h>

static volatile int x;

__attribute__((noinline)) static void twice(void) {
  for (int i = 0; i < 2; i++) {
#pragma omp critical(late)
    x++;
  }
}

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp critical(first)
    x++;
    for (int i = 0; i < 4; i++) {
#pragma omp critical(second)
      x++;
#pragma omp critical
      x++;
#pragma omp critical
      x++;
    }
    twice();
  }
  printf("READY\n");
  fflush(stdout);
  getchar();
  return 0;
}
