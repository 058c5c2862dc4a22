/* A task in a team of three, for debuggers that run it from its start: they stop in
 * work, twice, when all threads have started. It writes no truth and ends by itself.
 */
#include <stdio.h>

static int sum;

static void work(int n) { sum += n; }

int main(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp barrier
#pragma omp master
    {
#pragma omp task
      work(7);
#pragma omp taskwait
      work(1);
    }
  }
  printf("%d\n", sum);
  return 0;
}
