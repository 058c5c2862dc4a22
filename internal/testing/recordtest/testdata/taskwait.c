/* taskwait.c: workers wait for dependences: in regions; in the barrier at the end of regions, where they execute tasks;
 * in tasks that they execute during such waits; and in regions that such tasks fork.
 */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { TEAM = 4, REGIONS = 100, TASKS = 10, DEPTH = 2, BRANCHES = 3 };

static int waits;

/* wait_for creates a task and waits for it. */
static void wait_for(void) {
  int done = 0;
#pragma omp task depend(inout : done) shared(done)
  done++;
#pragma omp taskwait depend(in : done)
#pragma omp atomic
  waits += done;
}

/* tree creates tasks and waits for them, and so do the tasks. */
static void tree(int depth) {
  int made = 0;
  wait_for();
  for (int i = 0; depth > 0 && i < BRANCHES; i++) {
#pragma omp task depend(inout : made) shared(made) firstprivate(depth)
    {
      tree(depth - 1);
      made++;
    }
  }
#pragma omp task if (0) depend(in : made) shared(made, waits)
#pragma omp atomic
  waits += made - (depth > 0 ? BRANCHES : 0); /* 0 */
}

int main(void) {
  for (int round = 0; round < REGIONS; round++) {
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == round % TEAM) wait_for();
  }
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(TEAM)
#pragma omp masked
  for (int i = 0; i < TASKS; i++) {
#pragma omp task
    {
      tree(DEPTH);
#pragma omp parallel num_threads(2)
      wait_for();
    }
  }
  printf("READY %d\n", waits);
  fflush(stdout);
  for (;;) pause();
}
