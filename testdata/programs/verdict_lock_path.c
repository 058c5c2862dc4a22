/* Threads acquire a lock in a loop; one iteration was left on a path without a release, and
 * all threads, including that one, now wait for the lock. "1": the path is a `continue` of
 * the loop itself. "2" looks the same, but the path was not taken, and one more thread holds
 * the lock. "3" is like "1", with an assertion in the loop, which leads out of it too. */
#include "truth.h"
#include <assert.h>

static omp_lock_t stat;
static volatile int done, held;
static int sum[4], way;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void before(int turn, int leaves) {
  if (turn == 0 && leaves)
    while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 2)
      usleep(100);
}

static void after(int turn, int leaves) {
  if (turn == 0 && !leaves)
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static int record(int turn, int leaves) {
  omp_set_lock(&stat);
  if (turn == 0 && leaves)
    return 0; /* the path without a release */
  sum[turn & 3]++;
  omp_unset_lock(&stat);
  return 1;
}

__attribute__((noinline)) static void calls(int leaves) {
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 1) {
#pragma omp barrier
      if (way == 2)
        truth_until(&held);
      TRUTH_WAIT("wait_lock", &stat, 0);
    }
    before(turn, leaves);
    record(turn, leaves);
    after(turn, leaves);
  }
}

__attribute__((noinline)) static void loop(int leaves) {
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 1) {
#pragma omp barrier
      TRUTH_WAIT("wait_lock", &stat, 0);
    }
    before(turn, leaves);
    omp_set_lock(&stat);
    if (turn == 0 && leaves)
      continue; /* the path without a release */
    sum[turn & 3]++;
    omp_unset_lock(&stat);
    after(turn, leaves);
  }
}

__attribute__((noinline)) static void asserts(int leaves, int turns) {
  for (int turn = 0; turn < turns; turn++) {
    if (turn == 1) {
#pragma omp barrier
      TRUTH_WAIT("wait_lock", &stat, 0);
    }
    before(turn, leaves);
    assert(way >= 0);
    omp_set_lock(&stat);
    if (turn == 0 && leaves) continue; /* the path without a release */
    sum[turn & 3]++;
    omp_unset_lock(&stat);
    after(turn, leaves);
  }
}

static void *work(void *unused) {
  (void)unused;
  while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 3)
    usleep(100);
  omp_set_lock(&stat);
  truth_set(&held);
  while (__atomic_load_n(&done, __ATOMIC_SEQ_CST))
    pause(); /* works on, for ever */
  omp_unset_lock(&stat);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&stat);
  if (way == 2)
    pthread_create(&worker, NULL, work, NULL);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    int leaves = omp_get_thread_num() == 1 && way != 2;
    if (way == 3)
      asserts(leaves, 2);
    else if (way == 1)
      loop(leaves);
    else
      calls(leaves);
  }
  return 0;
}
