/* All members of a team make tasks, in the region itself and in a function that it calls. */
#include <omp.h>

static int done[6];

static void leaf(int n) {
#pragma omp atomic
  done[n]++;
}

static void spawn(void) {
#pragma omp task
  leaf(1);
}

int main(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp task
    leaf(0);
    spawn();
#pragma omp barrier
    leaf(2);
  }
  return done[0] != 3;
}
