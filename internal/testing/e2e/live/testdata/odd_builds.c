/* odd_builds.c WAY: two of four threads acquire two locks. Then, by WAY:
 * 0: each waits for the lock of the other;
 * 1: thread 0 works with both locks, and the others wait for it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static omp_lock_t ledger, journal;
static int way, meet, begun;
static volatile long total;

__attribute__((noinline)) static void note(long value) {
  if (value < 0) {
    fprintf(stderr, "negative: %ld\n", value);
    exit(1);
  }
  total += value;
}

__attribute__((noinline)) static void work(void) {
#pragma omp atomic write
  begun = 1;
  for (;;) total++;
}

__attribute__((noinline)) static void transfer(int me) {
  omp_lock_t *one = way == 0 && me == 1 ? &journal : &ledger;
  omp_lock_t *two = way == 0 && me == 1 ? &ledger : &journal;
  if (way == 1 && me == 1) {
    for (int n = 0; n == 0;) {
#pragma omp atomic read
      n = begun;
    }
  }
  omp_set_lock(one);
  if (way == 0) {
#pragma omp atomic
    meet++;
    for (int n = 0; n < 2;) {
#pragma omp atomic read
      n = meet;
    }
  }
  omp_set_lock(two);
  if (way == 1) work();
  note(me);
  omp_unset_lock(two);
  omp_unset_lock(one);
}

int main(int argc, char **argv) {
  way = argc > 1 ? atoi(argv[1]) : 0;
  omp_init_lock(&ledger);
  omp_init_lock(&journal);
  puts("READY");
  fflush(stdout);
#pragma omp parallel num_threads(4)
  {
    if (omp_get_thread_num() < 2) transfer(omp_get_thread_num());
#pragma omp barrier
    note(1);
  }
  return 0;
}
