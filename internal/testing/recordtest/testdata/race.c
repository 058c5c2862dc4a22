/* race.c: data written by critical sections, between barriers and by tasks that depend on each other, and, with an
 * argument, data written by all threads at once. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int sum, racy;

int main(int argc, char **argv) {
  (void)argv;
#pragma omp parallel num_threads(4)
  {
#pragma omp critical(bank)
    sum++;
#pragma omp barrier
    if (omp_get_thread_num() == 3) sum++;
#pragma omp barrier
#pragma omp single
    for (int i = 0; i < 8; i++) {
#pragma omp task depend(inout : sum)
      sum++;
    }
    if (argc > 1) racy++;
  }
  printf("READY %d %d\n", sum, racy > 0);
  fflush(stdout);
  for (;;) pause();
}
