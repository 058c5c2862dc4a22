/* Counts its own events, for breakpoints: prints the events that a debugger must see between
 * marker and the end. The runtime is initialized before marker, but has no worker yet. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void marker(void) { __asm__ volatile("" ::: "memory"); }

int main(int argc, char **argv) {
  int regions = argc > 1 ? atoi(argv[1]) : 7, tasks = argc > 2 ? atoi(argv[2]) : 11, size = 3;
  int serialized = 5, members = 0, done = 0, undeferred = 0, ran_serial = 0;
  omp_set_dynamic(0);
  marker();
  for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(size) reduction(+ : members)
    members++;
  }
  for (int i = 0; i < serialized; i++) {
#pragma omp parallel if (i < 0) reduction(+ : ran_serial)
    ran_serial += omp_get_num_threads();
  }
#pragma omp parallel num_threads(size)
#pragma omp single
  {
    for (int i = 0; i < tasks; i++) {
#pragma omp task
#pragma omp atomic
      done++;
    }
#pragma omp task if (done < 0)
    undeferred++;
  }
  if (members != regions * size || ran_serial != serialized || done != tasks || undeferred != 1) {
    printf("wrong: %d %d %d %d\n", members, ran_serial, done, undeferred);
    return 1;
  }
  printf("regions %d serialized %d tasks %d workers %d\n", regions + 1, serialized, tasks, size - 1);
  return 0;
}
