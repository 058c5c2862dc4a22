/* cold_parts.c WAY: locks in functions of which the compiler puts a part elsewhere. By WAY, two threads
 * 0: wait for the lock of the other in the part, with a lock that they acquired before it;
 * 1: enter the same function; one works in the part with both locks, and the other waits for it;
 * 2: wait for the lock of the other before a part that releases their own lock;
 * 3: enter the same function; one works before the part with its lock, and the other waits for it;
 * 4: acquire a lock that a part of the first thread's function has left acquired. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static omp_lock_t ledger, journal;
static int way, meet, begun;
static volatile int strict = 1;
static volatile long total;

/* A branch to a call of a cold function is in the part. */
__attribute__((cold, noinline)) static void report(int me) { total += me; }

__attribute__((noinline)) static void await_other(void) {
  if (way != 0 && way != 2) return;
#pragma omp atomic
  meet++;
  for (int n = 0; n < 2;) {
#pragma omp atomic read
    n = meet;
  }
}

__attribute__((noinline)) static void work(void) {
#pragma omp atomic write
  begun = 1;
  for (;;) total++;
}

__attribute__((noinline)) static void settle(omp_lock_t *one, omp_lock_t *two, int me) {
  omp_set_lock(one);
  if (strict) {
    report(me);
    await_other();
    omp_set_lock(two); /* in the part */
    report(me);
    if (way == 1) work();
    omp_unset_lock(two);
  }
  total++;
  omp_unset_lock(one);
}

__attribute__((noinline)) static void audit(omp_lock_t *one, omp_lock_t *two, int me) {
  omp_set_lock(one);
  await_other();
  if (way == 3) work();
  omp_set_lock(two); /* before the part */
  omp_unset_lock(two);
  if (strict) {
    report(me);
    omp_unset_lock(one);
    report(me);
    return;
  }
  total++;
  omp_unset_lock(one);
}

__attribute__((noinline)) static void forget(omp_lock_t *one, int me) {
  omp_set_lock(one);
  if (strict) {
    report(me);
    total += 2;
    return; /* with the lock */
  }
  total++;
  omp_unset_lock(one);
}

int main(int argc, char **argv) {
  way = argc > 1 ? atoi(argv[1]) : 0;
  omp_init_lock(&ledger);
  omp_init_lock(&journal);
  puts("READY");
  fflush(stdout);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num(), crossed = me == 1 && (way == 0 || way == 2);
    omp_lock_t *one = crossed ? &journal : &ledger, *two = crossed ? &ledger : &journal;
    if (me == 1 && way % 2 == 1) {
      for (int n = 0; n == 0;) {
#pragma omp atomic read
        n = begun;
      }
    }
    if (way < 2)
      settle(one, two, me);
    else if (way < 4)
      audit(one, two, me);
    else {
      if (me == 0) forget(&ledger, me);
#pragma omp barrier
      settle(&ledger, &journal, me);
    }
  }
  return 0;
}
