/* Looks like a lock that is never released, but is: two functions that
 * call each other release the locks, and a thread is about to reach one of
 * them. Another thread would reach the other function, but waits itself. */
#include "truth.h"

static omp_lock_t first, second;
static volatile int never;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void take(void) {
  omp_set_lock(&first);
  omp_set_lock(&second);
}

static void even(int n);

__attribute__((noinline)) static void odd(int n) {
  if (n > 0)
    even(n - 1);
  __asm__ volatile("");
}

__attribute__((noinline)) static void even(int n) {
  odd(n - 1);
  if (n == 0) {
    omp_unset_lock(&second);
    omp_unset_lock(&first);
  }
  __asm__ volatile("");
}

__attribute__((noinline)) static void want_first(void) {
  TRUTH_WAIT("wait_lock", &first, __LINE__ + 1);
  omp_set_lock(&first);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void want_second(void) {
  TRUTH_WAIT("wait_lock", &second, __LINE__ + 1);
  omp_set_lock(&second);
  if (never)
    even(2);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void work(void) {
  truth_enter(TRUTH_HELD, "work_parallel", 0, __func__, __FILE__, __LINE__ + 2);
  while (!never)
    pause(); /* truth_hold would never return and release the locks */
  odd(1);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&first);
  omp_init_lock(&second);
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 2)
    take();
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 0)
      want_first();
    else if (me == 1)
      want_second();
    else
      work();
  }
  return 0;
}
