/* A deadlock of an OpenMP lock and of a stream of stdio: one thread holds the stream and waits
 * for the lock, the other holds the lock and prints. With 1, the holder of the stream computes. */
#include "truth.h"

static omp_lock_t table;
static volatile int has_stream, has_table;
static long mode;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void list(void) {
  flockfile(stderr);
  truth_set(&has_stream);
  truth_until(&has_table);
  if (mode)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &table, __LINE__ + 1);
  omp_set_lock(&table);
  omp_unset_lock(&table);
  funlockfile(stderr);
}

__attribute__((noinline)) static void change(void) {
  omp_set_lock(&table);
  truth_set(&has_table);
  truth_until(&has_stream);
  TRUTH_WAIT("wait_mutex", 0, __LINE__ + 1);
  fputs("changed\n", stderr);
  omp_unset_lock(&table);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  mode = truth_arg(argc, argv, 1, 0);
  omp_init_lock(&table);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      list();
    else
      change();
  }
  return 0;
}
