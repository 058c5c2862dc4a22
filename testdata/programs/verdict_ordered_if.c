/* A deadlock of an ordered loop and a lock that iterations acquire under a condition in memory: thread 1 has the lock
 * and waits for its turn; it is the turn of thread 0, which wants the lock. "0", "1": healthy, thread 0 does not want
 * it, and works before its turn. "1": no deadlock, the condition of iteration 1 has changed before the release, so that
 * thread 1 left the lock; it waits for its turn in an iteration that does not want it. Third argument 1: inlined. */
#include "truth.h"

static omp_lock_t book;
static volatile int held, sum, wants[8];
static long way, healthy, inlined;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void note(int i) {
  if (i == 1)
    truth_set(&held);
  if (i == 0 && healthy)
    truth_hold("work_parallel", 1);
  if (way == 0 || i == 3)
    TRUTH_WAIT("wait_ordered", 0, 0);
}

__attribute__((always_inline)) static inline void iterate(int i) {
  if (wants[i])
    omp_set_lock(&book);
  note(i);
#pragma omp ordered
  {
    sum++;
    if (way == 1 && i == 1)
      wants[i] = 0;
  }
  if (wants[i])
    omp_unset_lock(&book);
}

__attribute__((noinline)) static void iterate_apart(int i) { iterate(i); }

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  healthy = truth_arg(argc, argv, 2, 0);
  inlined = truth_arg(argc, argv, 3, 0);
  omp_init_lock(&book);
  wants[0] = way == 0 && !healthy;
  wants[1] = wants[2] = 1;
  pthread_create(&observer, NULL, look, (void *)(way == 0 ? 3L : 2L));
#pragma omp parallel num_threads(way == 0 ? 3 : 2)
#pragma omp for ordered schedule(static, 1)
  for (int i = 0; i < (way == 0 ? 3 : 4); i++) {
    if (i == 0 || i == 2) {
      truth_until(&held);
      TRUTH_WAIT("wait_lock", &book, 0);
    }
    if (inlined)
      iterate(i);
    else
      iterate_apart(i);
  }
  return 0;
}
