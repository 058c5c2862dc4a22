/* A deadlock of an OpenMP lock and a mutex of POSIX threads. */
#include "truth.h"

static omp_lock_t queue;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static volatile int held_queue, held_journal;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void submit(void) {
  omp_set_lock(&queue);
  truth_set(&held_queue);
  truth_until(&held_journal);
  TRUTH_SLEEP("work_parallel", 0, __LINE__ + 1);
  pthread_mutex_lock(&journal);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void replay(void) {
  pthread_mutex_lock(&journal);
  truth_set(&held_journal);
  truth_until(&held_queue);
  TRUTH_WAIT("wait_lock", &queue, __LINE__ + 1);
  omp_set_lock(&queue);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&queue);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      submit();
    else
      replay();
  }
  return 0;
}
