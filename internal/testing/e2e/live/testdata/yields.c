/* yields.c: a thread yields repeatedly in a taskgroup with an unfinished detached task. */
#include <omp.h>
#include <stdio.h>

int main(void) {
  int rounds = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
  {
    omp_event_handle_t event;
#pragma omp taskgroup
    {
#pragma omp task detach(event)
      {
        rounds = 0;
      }
      for (int i = 0; i < 1000; i++) {
#pragma omp taskyield
        rounds++;
      }
      omp_fulfill_event(event);
    }
  }
  printf("%d rounds\n", rounds);
}
