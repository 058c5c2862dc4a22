/* A taskwait waits for a target task that another thread executes on the host and that stays there: "0". "1": it waits
 * for an explicit task. "2": for both. */
#include "truth.h"

static volatile int started;

static void stay(void) {
  __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
  TRUTH_HOLD("work_parallel");
}

static void (*volatile call)(void) = stay; /* a device would need the code of a function called by name */

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  int tasks = way == 2 ? 2 : 1;
  pthread_create(&observer, NULL, look, (void *)(long)(1 + tasks));
#pragma omp parallel num_threads(3)
  {
#pragma omp single
    {
      if (way != 1) {
        void (*in)(void) = call;
#pragma omp target nowait
        in();
      }
      if (way > 0) {
#pragma omp task
        stay();
      }
      while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < tasks)
        usleep(1000);
      truth_enter(TRUTH_SPINNING, "wait_taskwait", 0, "", "", 0);
#pragma omp taskwait
    }
  }
  return 0;
}
