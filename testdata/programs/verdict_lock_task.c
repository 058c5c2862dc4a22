/* A thread has a lock, and executes a task that acquires it: "0" an undeferred task, "1" a task of a taskwait, and the
 * lock is nestable. A second argument of 1: it works before that. */
#include "truth.h"

static omp_lock_t book;
static omp_nest_lock_t ledger;
static long works;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void enter(void) {
  TRUTH_WAIT("", 0, 0);
  omp_set_lock(&book);
  omp_unset_lock(&book);
}

__attribute__((noinline)) static void enter_nested(void) {
  TRUTH_WAIT("", 0, 0);
  omp_set_nest_lock(&ledger);
  omp_unset_nest_lock(&ledger);
}

__attribute__((noinline)) static void post(void) {
  omp_set_lock(&book);
  if (works)
    TRUTH_HOLD("");
#pragma omp task if (works)
  enter();
  omp_unset_lock(&book);
}

__attribute__((noinline)) static void transfer(void) {
  omp_set_nest_lock(&ledger);
  if (works)
    TRUTH_HOLD("");
#pragma omp task
  enter_nested();
#pragma omp taskwait
  omp_unset_nest_lock(&ledger);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  works = truth_arg(argc, argv, 2, 0);
  omp_init_lock(&book);
  omp_init_nest_lock(&ledger);
  pthread_create(&observer, NULL, look, (void *)1);
#pragma omp parallel num_threads(1)
  if (way)
    transfer();
  else
    post();
  return 0;
}
