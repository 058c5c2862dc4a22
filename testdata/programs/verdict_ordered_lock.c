/* A deadlock of an ordered loop and a lock: thread 1 holds the lock and waits for its
 * turn; it is the turn of thread 0, which wants the lock: argv[2] selects whether that is
 * inside of its ordered region, or with 2, that thread 0 works and is about to get there.
 * With 3, thread 0 wants the lock before it reaches the loop, and with 4, it works there. */
#include "truth.h"

static omp_lock_t log_lock;
static volatile int held, sum;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void note(void) {
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &log_lock, __LINE__ + 1);
  omp_set_lock(&log_lock);
  TRUTH_NEVER();
}

/* work is the work of a thread that has not arrived yet. */
__attribute__((noinline)) static void work(void) {
  truth_until(&held);
  TRUTH_HOLD("work_parallel");
}

__attribute__((noinline)) static void early(long inside) {
  if (inside == 2)
    work();
  if (!inside)
    note();
#pragma omp ordered
  {
    note();
    sum++;
  }
}

__attribute__((noinline)) static void late(void) {
  omp_set_lock(&log_lock);
  truth_set(&held);
  TRUTH_WAIT("wait_ordered", 0, __LINE__ + 1);
#pragma omp ordered
  sum++;
  omp_unset_lock(&log_lock);
}

int main(int argc, char **argv) {
  pthread_t observer;
  long inside = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&log_lock);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (inside == 3 && omp_get_thread_num() == 0)
      note();
    if (inside == 4 && omp_get_thread_num() == 0)
      work();
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 2; i++)
      if (i == 0)
        early(inside);
      else
        late();
  }
  return 0;
}
