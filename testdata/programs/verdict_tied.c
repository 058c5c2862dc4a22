/* Both threads wait in a taskwait for a detached task. A queued task would fulfil its event, but neither
 * may run that task: it does not descend from the waiting task. With argv[2] 1, one thread works. */
#include "truth.h"

static omp_event_handle_t one, two;
static volatile int started, queued;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void first(void) {
  omp_event_handle_t event;
#pragma omp task detach(event)
  truth_set(&started);
  one = event;
  TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
  TRUTH_NEVER();
}

__attribute__((noinline)) static void second(long works) {
  truth_set(&started);
  truth_until(&queued);
  if (works)
    TRUTH_HOLD("work_parallel");
  omp_event_handle_t event;
#pragma omp task detach(event)
  truth_set(&started);
  two = event;
  TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  long works = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task
      second(works);
      truth_until(&started); /* the other thread runs it, from the barrier */
#pragma omp task
      {
        omp_fulfill_event(one);
        omp_fulfill_event(two);
      }
      truth_set(&queued);
#pragma omp task if (0)
      first();
    }
  }
  return 0;
}
