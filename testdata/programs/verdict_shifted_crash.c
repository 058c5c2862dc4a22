/* A thread dies because barriers are shifted: a function with a barrier is called in a master construct ("0"), or on one
 * side of a branch ("1"), twice. So thread 0 comes to two barriers more than the others, and thread 1 reads a pointer
 * that thread 0 sets two barriers later. "2": thread 1 dies at the same place, and no barrier is shifted. */
#include "truth.h"

static volatile int sum, way, zero_near, two_near;
static int *volatile table;

__attribute__((noinline)) static void sync_all(void) {
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void count(void) { sum++; }

/* use dies when threads 0 and 2 wait at their barriers. */
__attribute__((noinline)) static void use(void) {
  truth_until(&two_near);
  truth_until(&zero_near);
  truth_await(2);
  truth_write(1);
  *table += 1;
}

__attribute__((noinline)) static void in_master(void) {
#pragma omp barrier
#pragma omp master
  {
    count();
    sync_all();
    sync_all();
    truth_set(&zero_near);
  }
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void in_branch(int first) {
#pragma omp barrier
  if (first) {
    sync_all();
    sync_all();
    truth_set(&zero_near);
  }
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void all_come(void) {
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void step(int me) {
  if (me == 0 && way < 2)
    table = (int *)&sum;
#pragma omp barrier
  if (me == 1)
    use();
  if (me == 2)
    truth_set(&two_near);
  if (me == 0)
    truth_set(&zero_near);
#pragma omp barrier
  sum++;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    TRUTH_REGION(__LINE__ - 3);
    if (me == 1)
      truth_enter(TRUTH_NOWHERE, "work_parallel", 0, "", "", 0);
    else
      truth_enter(TRUTH_ASLEEP, "wait_barrier", 0, "", "", 0);
    if (way == 0)
      in_master();
    else if (way == 1)
      in_branch(me == 0);
    else
      all_come();
    step(me);
  }
  return 0;
}
