/* The library of unloaded.c: a team of four. */
#include <omp.h>

int work(void) {
  int team = 0;
#pragma omp parallel num_threads(4) reduction(+ : team)
  team++;
  return team;
}
