/* A thread that acquired a lock through twelve functions, which all call each
 * other, is at a barrier that the threads waiting for the lock cannot reach. With
 * the argument 1 it works instead. There are 12^8 paths through eight of the calls. */
#include "truth.h"

static omp_lock_t book;
static volatile int have;
static int works;
static volatile long entries;

#define CASES                                                                                                      \
  CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11)
#define CASE(n)                                                                                                    \
  case n:                                                                                                          \
    step##n(level - 1);                                                                                            \
    break;
#define DECLARE(n) static void step##n(int level);
/* Each acquires the lock at the last level, and goes one level down by one of them before that. */
#define STEP(n)                                                                                                    \
  __attribute__((noinline)) static void step##n(int level) {                                                       \
    if (level == 0) {                                                                                              \
      omp_set_lock(&book);                                                                                         \
      return;                                                                                                      \
    }                                                                                                              \
    switch ((entries + level) % 12) { CASES }                                                                      \
  }
#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11)
EACH(DECLARE)
EACH(STEP)

static void *look(void *unused) {
  (void)unused;
  truth_await(3);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void own(void) {
  step0(9);
  truth_set(&have);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("", 0, 0);
#pragma omp barrier
  entries++;
  omp_unset_lock(&book);
}

__attribute__((noinline)) static void want(void) {
  truth_until(&have);
  TRUTH_WAIT("", 0, 0);
  omp_set_lock(&book);
#pragma omp barrier
  entries++;
  omp_unset_lock(&book);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  works = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&book);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 0)
    own();
  else
    want();
  return 0;
}
