/* Computes in loops that have nothing new in integer registers: "0" a sum, by all threads; "1" one thread's sum, while
 * the other waits for it; "2" counts, with a lock for each of a few counters. An alarm ends it after some seconds, the
 * second argument.
 *
 * "3" has the same form, but a thread waits for a flag that no thread sets. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNTERS = 8, TEAM = 2 };

static volatile int started;
static double area[TEAM];
static struct {
  omp_lock_t lock;
  long count;
} counters[COUNTERS];

__attribute__((noinline)) static void integrate(double *sum, long steps) {
  for (long k = 0; k < steps; k++) {
    double x = (k + 0.5) / steps;
    *sum += x / (2 + x * x) / steps;
  }
}

__attribute__((noinline)) static void sort_into(unsigned seed, long values) {
  for (long k = 0; k < values; k++) {
    int i = (seed = seed * 1103515245 + 12345) >> 16 & (COUNTERS - 1);
    omp_set_lock(&counters[i].lock);
    counters[i].count++;
    omp_unset_lock(&counters[i].lock);
  }
}

__attribute__((noinline)) static void await_start(void) {
  while (!started)
    ;
}

int main(int argc, char **argv) {
  int way = argc > 1 ? atoi(argv[1]) : 0;
  const long many = 1L << 60;
  alarm(argc > 2 ? atoi(argv[2]) : 5);
  for (int i = 0; i < COUNTERS; i++)
    omp_init_lock(&counters[i].lock);
#pragma omp parallel num_threads(TEAM)
  {
    int me = omp_get_thread_num();
    if (way == 2)
      sort_into(me + 1, many);
    else if (way == 3 && me == 0)
      await_start();
    else if (way == 0 || (way == 1 && me == 0))
      integrate(&area[me], many);
#pragma omp barrier
    if (me == 0)
      printf("%g %ld\n", area[0] + area[1], counters[0].count);
  }
  return 0;
}
