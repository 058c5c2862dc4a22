/* Threads in target regions that the host executes, as there is no device. GNU's runtime hides the team of such a
 * thread. By the first number:
 *  0  thread 1 of three is in a target region, the others are at a barrier
 *  1  thread 0 of three is
 *  2  all three threads are
 *  3  thread 1 is, in an undeferred task
 *  4  both threads of an inner region are, and the other thread of the outer region is at a barrier
 */
#include "truth.h"

static int value;

/* stay is called in target regions. The thread with a number of others waits until these are in place, and ends the
 * program; others stay. */
static void stay(int others) {
  if (others) {
    truth_await(others);
    truth_end();
  }
  truth_hold("work_parallel", 0);
}

static void (*volatile call)(int) = stay; /* a device would need the code of a function called by name */

__attribute__((noinline)) static void in_target(int others) {
  void (*in)(int) = call;
  if (others)
    truth_ask()->state = "work_parallel";
  else
    truth_enter(TRUTH_HELD, "work_parallel", 0, "truth_hold", __FILE__, 0);
#pragma omp target map(tofrom : value)
  {
    value = omp_get_level();
    in(others);
    value++;
  }
  value++;
}

/* region has three threads; those in the set members execute a target region. */
__attribute__((noinline)) static void region(int members) {
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (members >> me & 1)
      in_target((members & -members) == 1 << me ? 2 : 0);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
}

__attribute__((noinline)) static void in_task(void) {
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
#pragma omp task if (0)
      {
        truth_tasks("running", 1, __LINE__ - 2, truth_tid());
        in_target(2);
      }
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
    if (omp_get_thread_num() == 1) {
#pragma omp parallel num_threads(2)
      {
        TRUTH_REGION(__LINE__ - 2);
        in_target(omp_get_thread_num() == 0 ? 2 : 0);
        TRUTH_NEVER();
      }
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_set_max_active_levels(2);
  switch (truth_arg(argc, argv, 1, 0)) {
  case 0:
    region(2);
  case 1:
    region(1);
  case 2:
    region(7);
  case 3:
    in_task();
  case 4:
    nested();
  }
  return 3;
}
