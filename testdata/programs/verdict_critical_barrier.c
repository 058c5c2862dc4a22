/* A barrier inside a critical section: the thread in the section waits for the others to arrive, and they
 * wait to enter it. The arguments are the number of the thread in it (1) and the number of threads (4). */
#include "truth.h"

static volatile int inside;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void meet(void) {
  TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  TRUTH_NEVER();
}

__attribute__((noinline)) static void enter(int first) {
  if (!first) {
    truth_until(&inside);
    TRUTH_WAIT("wait_critical", 0, __LINE__ + 2);
  }
#pragma omp critical(room)
  {
    truth_set(&inside);
    meet();
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  long who = truth_arg(argc, argv, 1, 1), threads = truth_arg(argc, argv, 2, 4);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)threads);
#pragma omp parallel num_threads(threads)
  {
    TRUTH_REGION(__LINE__ - 2);
    enter(omp_get_thread_num() == who);
  }
  return 0;
}
