/* Mutexes whose lock word has the thread that holds them: "0" one with priority inheritance is acquired again by its
 * holder, "1" two of them in different orders, "2" two robust ones in different orders. A second argument of 1: the
 * holder works. */
#include "truth.h"

static pthread_mutex_t left, right;
static int works, have;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void again(void) {
  TRUTH_SLEEP("work_parallel", 0, 0);
  pthread_mutex_lock(&left);
  pthread_mutex_unlock(&left);
}

__attribute__((noinline)) static void twice(void) {
  pthread_mutex_lock(&left);
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  if (works)
    TRUTH_HOLD("work_parallel");
  again();
  pthread_mutex_unlock(&left);
}

__attribute__((noinline)) static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
  pthread_mutex_lock(first);
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(1000);
  if (works && first == &left)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("work_parallel", 0, 0);
  pthread_mutex_lock(second);
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}

int main(int argc, char **argv) {
  pthread_t observer;
  pthread_mutexattr_t kind;
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  pthread_mutexattr_init(&kind);
  if (way == 2)
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  else
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&left, &kind);
  pthread_mutex_init(&right, &kind);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    if (way == 0 && omp_get_thread_num() == 1) {
      twice();
    } else if (way == 0) {
      while (!__atomic_load_n(&have, __ATOMIC_SEQ_CST))
        usleep(1000);
      again();
    } else if (omp_get_thread_num() == 1) {
      both(&left, &right);
    } else {
      both(&right, &left);
    }
  }
  return 0;
}
