/* A thread waits on a condition variable while it holds a lock. The only thread
 * that would signal it wants that lock. With argv[2] 1, that thread works. */
#include "truth.h"

static omp_lock_t table;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static volatile int held, full;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void take(void) {
  omp_set_lock(&table);
  truth_set(&held);
  pthread_mutex_lock(&guard);
  TRUTH_SLEEP("work_parallel", 0, __LINE__ + 2);
  while (!full)
    pthread_cond_wait(&filled, &guard);
  pthread_mutex_unlock(&guard);
  omp_unset_lock(&table);
}

__attribute__((noinline)) static void fill(long works) {
  truth_until(&held);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &table, __LINE__ + 1);
  omp_set_lock(&table);
  pthread_mutex_lock(&guard);
  full = 1;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&guard);
  omp_unset_lock(&table);
}

int main(int argc, char **argv) {
  pthread_t observer;
  long works = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&table);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      take();
    else
      fill(works);
  }
  return 0;
}
