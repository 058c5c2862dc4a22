/* Detached tasks whose event is never fulfilled. argv[1]: 0: a task that is executed at once (if(0)), so that GNU's
 * runtime waits in the task construct; 1: tasks that depend on it would fulfil the event; 2: only a later repetition of
 * the region would. With argv[2] 1, another thread works and fulfils it. */
#include "truth.h"

static omp_event_handle_t event;
static volatile int made, ready, sink, works_on = 1;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void finish(void) {
  truth_until(&made);
  truth_enter(TRUTH_HELD, "work_parallel", 0, "finish", __FILE__, __LINE__ + 2);
  while (works_on) /* the compiler must keep the call below */
    pause();
  omp_fulfill_event(event);
}

#define NEVER_AT_ONCE                                       \
  _Pragma("omp task detach(done) if(0)") {                  \
    event = done;                                           \
    truth_set(&made);                                       \
    TRUTH_WAIT("wait_taskwait", 0, __LINE__);               \
  }

static void step(long way, long works, long again) {
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      omp_event_handle_t done;
      if (way == 0) {
        NEVER_AT_ONCE
      } else {
#pragma omp task detach(done) depend(out : ready) firstprivate(again)
        {
          event = done;
          truth_set(&made);
          if (again)
            omp_fulfill_event(done);
        }
        if (way == 1) {
#pragma omp task depend(in : ready)
          {
            sink++;
            if (!works)
              omp_fulfill_event(event);
          }
        }
      }
    }
    if (works && omp_get_thread_num() == 1)
      finish();
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  long way = truth_arg(argc, argv, 1, 0), works = truth_arg(argc, argv, 2, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
  for (long i = 0; i < 2; i++)
    step(way, works, i);
  return 0;
}
