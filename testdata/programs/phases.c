/* Four threads spend a third of their time waiting for a lock, a quarter at a barrier, and the rest at work. The program
   ends after the number of seconds in its argument, and prints the times that its threads measured: all, lock, barrier. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { threads = 4 };

static omp_lock_t ledger;
static int order;                 /* of the threads that have had the lock in this round */
static const double hold = 0.010; /* seconds */

static double now(void) { /* omp_get_wtime would be the runtime's own work */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void work(double seconds) {
  double end = now() + seconds;
  while (now() < end)
    continue;
}

int main(int argc, char **argv) {
  double begin = now(), end = begin + (argc > 1 ? atof(argv[argc - 1]) : 1);
  double lock = 0, barrier = 0, all = 0;
  omp_init_lock(&ledger);
  fputs("r", stderr); /* ready */
#pragma omp parallel num_threads(threads) reduction(+ : lock, barrier, all)
  {
    int more = 1;
    double start = now();
    while (more) {
      double t = now();
      omp_set_lock(&ledger);
      lock += now() - t;
      int late = order++ % threads;
      work(hold);
      omp_unset_lock(&ledger);
      work((threads - 1 - late) * hold / 4 + hold / 2);
      more = now() < end;
      t = now();
#pragma omp barrier
      barrier += now() - t;
      static int last;
      if (late == threads - 1)
        last = more;
      t = now();
#pragma omp barrier
      barrier += now() - t;
      more = last;
    }
    all += now() - start;
  }
  printf("%.6f %.6f %.6f\n", all, lock, barrier);
  return 0;
}
