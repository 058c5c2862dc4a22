/* A region whose threads stay until the standard input ends. */
#include <stdio.h>

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
#pragma omp master
    {
      puts("READY");
      fflush(stdout);
      getchar();
    }
  }
  return 0;
}
