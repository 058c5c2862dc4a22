/* Thread 0 executes a task in a taskwait of another task, which it executes in a taskwait of its region. Thread 1 stays
 * in the region. The program ends by abort in the innermost task. */
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

static void innermost(void) {
  abort();
}

static void middle(void) {
#pragma omp task
  innermost();
#pragma omp taskwait
}

int main(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1)
      for (;;)
        pause();
#pragma omp task
    middle();
#pragma omp taskwait
  }
  return 0;
}
