/* Two regions of two threads and a task, for debuggers that run it from its
 * start and stop at one of them. It writes no truth and ends by itself.
 */
#include <stdio.h>

static int sum;

static void work(int n) {
#pragma omp atomic
  sum += n;
}

int main(void) {
#pragma omp parallel num_threads(2)
  work(1);
#pragma omp parallel num_threads(2)
  {
#pragma omp single
#pragma omp task
    work(3);
  }
  printf("%d\n", sum);
  return 0;
}
