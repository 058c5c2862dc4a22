/* A thread holds a lock that a running task wants, and waits for a task that depends on
 * that task: in a taskwait for its child (argv[2] 0) or argv[4] children, at the end of
 * a taskgroup (1), or at an undeferred task (2). With argv[3] 1, the running task works. */
#include "truth.h"

static omp_lock_t table;
static volatile int held, started, rows, sink;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void child(long works) {
  truth_set(&started);
  truth_until(&held);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &table, __LINE__ + 1);
  omp_set_lock(&table);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void parent(long how, long works, long children) {
#pragma omp task depend(out : rows)
  child(works);
  truth_until(&started); /* the other thread runs it, from the barrier */
  omp_set_lock(&table);
  truth_set(&held);
  if (how == 0) {
    for (long i = 0; i < children; i++)
#pragma omp task depend(in : rows)
      sink++;
    TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
  } else if (how == 1) {
#pragma omp taskgroup
    {
#pragma omp task depend(in : rows)
      sink++;
      TRUTH_WAIT("wait_taskgroup", 0, __LINE__ + 1);
    }
  } else {
    TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp task if (0) depend(in : rows)
    sink++;
  }
  TRUTH_NEVER();
  omp_unset_lock(&table);
}

int main(int argc, char **argv) {
  pthread_t observer;
  long how = truth_arg(argc, argv, 1, 0), works = truth_arg(argc, argv, 2, 0), children = truth_arg(argc, argv, 3, 1);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&table);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      parent(how, works, children);
  }
  return 0;
}
