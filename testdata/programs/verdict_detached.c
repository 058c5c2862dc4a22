/* A thread waits for a detached task that has run, but its event is never fulfilled.
 * With argv[2] 1, the other thread works and would fulfil it. argv[3] selects the
 * wait: in a taskwait, at the end of a taskgroup, or, both threads, at a barrier. */
#include "truth.h"

static omp_event_handle_t event;
static volatile int ran, made;

__attribute__((noinline)) static void finish(void) {
  truth_until(&made);
  TRUTH_HOLD("work_parallel");
  omp_fulfill_event(event);
}

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

/* MAKE is a macro: the code that waits for a task must show that the task may wait for an event. */
#define MAKE                                        \
  _Pragma("omp task detach(done)") truth_set(&ran); \
  event = done;                                     \
  truth_set(&made);                                 \
  if (!works)                                       \
  truth_until(&ran) /* the other thread has run it */

int main(int argc, char **argv) {
  pthread_t observer;
  long works = truth_arg(argc, argv, 1, 0), where = truth_arg(argc, argv, 2, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    omp_event_handle_t done;
    if (omp_get_thread_num() == 0 && where == 1) {
#pragma omp taskgroup
      {
        MAKE;
        TRUTH_WAIT("wait_taskgroup", 0, __LINE__ + 1);
      }
      TRUTH_NEVER();
    } else if (omp_get_thread_num() == 0) {
      MAKE;
      if (where == 0) {
        TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
        TRUTH_NEVER();
      }
    }
    if (works)
      finish();
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  }
  return 0;
}
