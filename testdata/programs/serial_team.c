/* Serial code that makes GNU's runtime create a team of one thread at level 0 and keep it as the thread's team: by a
 * reduction over the tasks of a taskgroup or a taskloop, or by a target region with nowait. Then, by the first number:
 *  0  serial code
 *  1  a region of three
 *  2  a region of three, while the target task is queued
 *  3  nested regions
 *  4  regions of two threads of the program's own, each after such reductions
 *  5  idle workers of an earlier region
 *  6  tasks queued in serial code
 *  7  a region forked by a task of serial code
 *  8  a region in a league of teams
 *  9  a region, after one on a device that does not exist
 * 10  as 7, with the reduction in the task; since GCC 14, as older runtimes then free a task that is on a stack
 *
 * No program has two regions of several threads after its reduction: the runtime frees the team of such a region at
 * its end, while workers may still read it, and hangs.
 */
#include "truth.h"

static int values[8];

__attribute__((noinline)) static void reduce(void) {
  int sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  {
    for (int i = 0; i < 4; i++)
#pragma omp task in_reduction(+ : sum)
      sum += i;
  }
  if (sum != 6)
    _exit(5);
}

__attribute__((noinline)) static void loop(void) {
  int sum = 0;
#pragma omp taskloop reduction(+ : sum) num_tasks(3)
  for (int i = 0; i < 12; i++)
    sum += i;
  if (sum != 66)
    _exit(5);
}

__attribute__((noinline)) static void offload(void) {
#pragma omp target nowait map(tofrom : values)
  values[0] = 1;
}

__attribute__((noinline)) static void offload_now(void) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  {
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum++;
  }
  if (sum != 3)
    _exit(5);
}

/* region has n threads; the first does not reach the barrier. */
__attribute__((noinline)) static void region(int n, int others, int root, int trigger) {
#pragma omp parallel num_threads(n)
  {
    truth_region(__LINE__ - 2, root);
    if (omp_get_thread_num() == 0) {
      if (trigger)
        truth_trigger("work_parallel", others);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
}

__attribute__((noinline)) static void nested(void) {
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
      TRUTH_REGION(__LINE__ - 2);
      if (outer == 0 && omp_get_thread_num() == 0)
        truth_trigger("work_parallel", 3);
      if (omp_get_thread_num() == 0)
        TRUTH_HOLD("work_parallel");
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    }
  }
}

static void *root(void *unused) {
  (void)unused;
  reduce();
  region(2, 0, truth_tid(), 0);
  return NULL;
}

__attribute__((noinline)) static void idle(void) {
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() != 0)
      truth_enter(TRUTH_ASLEEP, "idle", 0, "", "", 0);
  }
}

__attribute__((noinline)) static void queued(void) {
  for (int i = 0; i < 3; i++)
#pragma omp task
    values[i]++;
  truth_tasks("queued", 3, __LINE__ - 2, 0);
  truth_trigger("work_serial", 0);
}

__attribute__((noinline)) static void forks_in_task(int first) {
  if (!first)
    reduce();
#pragma omp task if (0)
  {
    if (first)
      reduce();
    truth_tasks("waiting", 1, __LINE__ - 4, truth_tid());
    region(3, 2, getpid(), 1);
    values[1] = 2;
  }
}

__attribute__((noinline)) static void league(void) {
#pragma omp teams num_teams(2)
  {
    loop();
    if (omp_get_team_num() == 1)
      region(3, 2, getpid(), 1);
  }
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  truth_init(argc, argv, __FILE__);
  long kind = truth_arg(argc, argv, 1, 0);
  omp_set_max_active_levels(2);
  switch (kind) {
  case 0:
    reduce();
    truth_trigger("work_serial", 0);
  case 1:
    reduce();
    region(3, 2, getpid(), 1);
  case 2:
    offload();
    truth_tasks_of("target", "queued", 1, 0, 0);
    region(3, 2, getpid(), 1);
  case 3:
    loop();
    nested();
  case 4:
    for (int i = 0; i < 2; i++)
      pthread_create(&threads[i], NULL, root, NULL);
    reduce();
    truth_trigger("work_serial", 4);
  case 5:
    idle();
    reduce();
    truth_trigger("work_serial", 2);
  case 6:
    loop();
    queued();
  case 7:
    forks_in_task(0);
  case 8:
    league();
  case 9:
    reduce();
    offload_now();
    region(3, 2, getpid(), 1);
  case 10:
    forks_in_task(1);
  }
  return 0;
}
