/* A thread waits for its child task while it holds a lock that the child wants. */
#include "truth.h"

static omp_lock_t table;
static volatile int held, started;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void child(void) {
  truth_set(&started);
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &table, __LINE__ + 1);
  omp_set_lock(&table);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void parent(void) {
#pragma omp task
  child();
  truth_until(&started); /* the other thread runs it, from the barrier */
  omp_set_lock(&table);
  truth_set(&held);
  TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&table);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      parent();
  }
  return 0;
}
