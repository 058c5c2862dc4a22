/* Queued tasks of three priorities; two of a finished parent; and a taskgroup in a task: its
 * own task waits for one of lower priority. Thread 1 runs the first task of thread 0, and
 * has suspended the task with the taskgroup: it executes the task inside, which triggers. */
#include "truth.h"

static volatile int created, started;
static volatile long ran;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
#pragma omp task
      {
        truth_set(&started);
        truth_until(&created);
        truth_tasks("waiting", 1, __LINE__ - 4, truth_tid());
#pragma omp taskgroup
        {
#pragma omp task priority(9)
          {
            truth_tasks("running", 1, __LINE__ - 2, truth_tid());
            truth_trigger("work_parallel", 1);
          }
        }
        TRUTH_NEVER();
      }
      truth_until(&started);
#pragma omp task if (0)
      {
        for (int i = 0; i < 2; i++)
#pragma omp task
          ran += i;
        truth_tasks("queued", 2, __LINE__ - 2, 0);
      }
      for (int p = 1; p <= 3; p++)
        for (int i = 0; i < 4; i++)
#pragma omp task priority(p)
          ran += p;
      truth_tasks("queued", 12, __LINE__ - 2, 0);
      truth_set(&created);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_JOIN_TASKS(__LINE__ - 32);
  }
  return 0;
}
