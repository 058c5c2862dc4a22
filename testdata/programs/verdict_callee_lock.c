/* Locks that are acquired in one function and released, or waited for, in another that it calls.
 * 0: a critical section is entered again from within, in a function that leaves it correctly.
 * 1: a deadlock of two locks, where a function finally releases the lock of its caller.
 * 2: the same function has released its caller's lock when it waits for a lock of a thread that
 *    computes: no verdict. */
#include "truth.h"

static omp_lock_t stock, till;
static volatile int has_stock, has_till;
static long mode;
static int sum;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static int correct(int by) {
  TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(books)
  sum -= by;
  return by;
}

__attribute__((noinline)) static int enter(int by) {
#pragma omp critical(books)
  {
    sum += by;
    if (by > 1)
      sum += correct(by);
  }
  return sum;
}

__attribute__((noinline)) static int finish(int by) {
  TRUTH_WAIT("wait_lock", &till, __LINE__ + 1);
  omp_set_lock(&till);
  sum += by;
  omp_unset_lock(&till);
  omp_unset_lock(&stock);
  return by;
}

__attribute__((noinline)) static int sell(int by) {
  omp_set_lock(&stock);
  truth_set(&has_stock);
  truth_until(&has_till);
  return finish(by) + sum;
}

__attribute__((noinline)) static int close_early(int by) {
  omp_unset_lock(&stock);
  TRUTH_WAIT("wait_lock", &till, __LINE__ + 1);
  omp_set_lock(&till);
  sum += by;
  omp_unset_lock(&till);
  return by;
}

__attribute__((noinline)) static int sell_early(int by) {
  omp_set_lock(&stock);
  truth_set(&has_stock);
  truth_until(&has_till);
  return close_early(by) + sum;
}

__attribute__((noinline)) static int count(int by) {
  omp_set_lock(&till);
  truth_set(&has_till);
  truth_until(&has_stock);
  if (mode == 2)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &stock, __LINE__ + 1);
  omp_set_lock(&stock);
  sum += by;
  omp_unset_lock(&stock);
  omp_unset_lock(&till);
  return sum;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  mode = truth_arg(argc, argv, 1, 0);
  omp_init_lock(&stock);
  omp_init_lock(&till);
  pthread_create(&observer, NULL, look, (void *)(mode ? 2L : 1L));
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (mode == 0 && omp_get_thread_num() == 0)
      sum = enter(2);
    else if (mode)
      sum = omp_get_thread_num() ? count(1) : mode == 1 ? sell(2) : sell_early(2);
    TRUTH_JOIN(__LINE__ - 7);
  }
  return sum;
}
