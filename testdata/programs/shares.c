/* Four threads wait in the way that the last argument names, again and again: for a lock, at a barrier, for tasks. They
   work by the clock, some milliseconds at a time. The program runs until it is killed. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { threads = 4 };

static omp_lock_t ledger;
static omp_nest_lock_t nest;

static void work(int milliseconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double end = t.tv_sec + 1e-9 * t.tv_nsec + 1e-3 * milliseconds;
  do
    clock_gettime(CLOCK_MONOTONIC, &t);
  while (t.tv_sec + 1e-9 * t.tv_nsec < end);
}

static void wait_lock(int me) {
  omp_set_lock(&ledger);
  work(4);
  omp_unset_lock(&ledger);
  work(2 * me + 1);
}

static void wait_nest(int me) {
  omp_set_nest_lock(&nest);
  work(3);
  omp_unset_nest_lock(&nest);
  work(4 + me);
}

static void wait_critical(int me) {
#pragma omp critical(account)
  work(5);
  work(2 + me);
}

static void wait_barrier(int me) {
  work(4 * me + 2);
#pragma omp barrier
}

static void wait_loop(int me) {
  (void)me;
#pragma omp for schedule(static, 1)
  for (int i = 0; i < threads; i++)
    work(5 * i + 2);
}

static void wait_sections(int me) {
  (void)me;
#pragma omp sections
  {
#pragma omp section
    work(9);
#pragma omp section
    work(5);
  }
}

static void wait_single(int me) {
  (void)me;
#pragma omp single
  work(6);
  work(3);
}

static void wait_ordered(int me) {
  (void)me;
#pragma omp for ordered schedule(static, 1)
  for (int i = 0; i < 2 * threads; i++) {
    work(4);
#pragma omp ordered
    work(4);
  }
}

static void wait_master(int me) {
#pragma omp master
  work(10);
  work(1 + me);
#pragma omp barrier
}

static const struct {
  const char *name;
  void (*wait)(int);
} ways[] = {
    {"lock", wait_lock},         {"nest", wait_nest},     {"critical", wait_critical}, {"barrier", wait_barrier},
    {"loop", wait_loop},         {"sections", wait_sections}, {"single", wait_single}, {"ordered", wait_ordered},
    {"master", wait_master},
};

int main(int argc, char **argv) {
  omp_init_lock(&ledger);
  omp_init_nest_lock(&nest);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, argv[argc - 1]) == 0) {
      void (*wait)(int) = ways[i].wait;
#pragma omp parallel num_threads(threads)
      for (;;)
        wait(omp_get_thread_num());
    }
  fprintf(stderr, "shares: no way to wait: %s\n", argv[argc - 1]);
  return 2;
}
