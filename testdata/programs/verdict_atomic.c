/* A deadlock of the section of atomic constructs that have no instruction, and the
 * unnamed critical section. A compiler generates the calls below for such constructs;
 * only the operation is between them, so a signal handler or a debugger's call may
 * execute this there. With argv[2] 1, the thread in the atomic section works. */
#include "truth.h"

void GOMP_atomic_start(void);
void GOMP_atomic_end(void);

static volatile int in_atomic, in_critical;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void add(long works) {
  GOMP_atomic_start();
  truth_set(&in_atomic);
  truth_until(&in_critical);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical
  TRUTH_NEVER();
  GOMP_atomic_end();
}

__attribute__((noinline)) static void print(void) {
#pragma omp critical
  {
    truth_set(&in_critical);
    truth_until(&in_atomic);
    TRUTH_WAIT("wait_atomic", 0, __LINE__ + 1);
    GOMP_atomic_start();
    TRUTH_NEVER();
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  long works = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      add(works);
    else
      print();
  }
  return 0;
}
