/* A function with a critical section calls one that calls it again.
 * 1: the call comes after the section, and the thread computes within it: no verdict. */
#include "truth.h"

static volatile int entered;
static int lines;
static long after;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void note(int);

__attribute__((noinline)) static void rotate(int by) {
  lines = 0;
  note(by - 1);
}

__attribute__((noinline)) static void note(int by) {
  if (entered)
    TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(logger)
  {
    lines += by;
    if (!after || by < 2)
      truth_set(&entered);
    if (after && by < 2)
      TRUTH_HOLD("work_parallel");
    if (!after && by > 1)
      rotate(by);
  }
  if (after && by > 1)
    rotate(by);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  after = truth_arg(argc, argv, 1, 0);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      note(2);
    } else {
      truth_until(&entered);
      note(1);
    }
  }
  return lines;
}
