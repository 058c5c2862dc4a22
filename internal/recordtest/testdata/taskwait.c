/* taskwait.c: workers wait for dependences, one in each of many regions. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { TEAM = 4, REGIONS = 100 };

int main(void) {
  int n = 0;
  for (int round = 0; round < REGIONS; round++) {
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == round % TEAM) {
      int done = 0;
#pragma omp task depend(inout : done) shared(done)
      done++;
#pragma omp taskwait depend(in : done)
#pragma omp atomic
      n += done;
    }
  }
  printf("READY %d\n", n);
  fflush(stdout);
  for (;;) pause();
}
