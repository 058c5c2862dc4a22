/* Threads that are in hold(), below functions without frames: each has ended in a tail call if it was optimised. The
 * argument chooses the calls.
 * 0: the region's function, its caller and the function before it;
 * 1: the same, by one of two functions, so that the code does not show which of them was called;
 * 2: the same, in a region inside another one, which ends in the fork of the inner region;
 * 3: the same, in tasks of a region: its function ends in a wait for them;
 * 4: two functions in a region that do not end its function;
 * 5: as 2, but the threads with number 0 wait at the end of the inner regions;
 * 6: as 2, but the inner region is forked by a task; the outer region's function would end in the fork of another one.
 */
#include "truth.h"

#define APART __attribute__((noinline))
#define TEAM 2

static volatile int chosen;
volatile int sums[4];

APART void hold(void) {
  if (omp_get_thread_num() == 1 || chosen == 3) {
    if (!__atomic_fetch_add(&sums[3], 1, __ATOMIC_ACQ_REL)) truth_trigger("work_parallel", chosen == 2 || chosen == 6 ? 3 : 1);
  }
  truth_enter(TRUTH_HELD, "work_parallel", 0, "", "", 0);
  pause();
  sums[0]++;
}

APART void leaf(void) {
  sums[1]++;
  hold();
}

APART void left(void) {
  sums[1]++;
  hold();
}

APART void right(void) {
  sums[2]++;
  hold();
}

APART void choose(void) {
  if (sums[2])
    left();
  else
    right();
}

APART void first(void) {
  sums[2]++;
  leaf();
}

APART void plain(void) {
#pragma omp parallel num_threads(TEAM)
  {
    first();
    sums[1]++;
  }
  sums[2]++;
}

APART void solve(void) {
#pragma omp parallel num_threads(TEAM)
  leaf();
}

APART void step(void) {
  sums[1]++;
  solve();
}

APART void either(void) {
#pragma omp parallel num_threads(TEAM)
  choose();
}

APART void outer(void) {
#pragma omp parallel num_threads(TEAM)
  step();
}

APART void half(void) {
#pragma omp parallel num_threads(TEAM)
  if (omp_get_thread_num() == 1) leaf();
}

APART void halves(void) {
#pragma omp parallel num_threads(TEAM)
  half();
}

APART void other(void) {
#pragma omp parallel num_threads(TEAM)
  first();
}

APART void mixed(void) {
#pragma omp parallel num_threads(TEAM)
  {
#pragma omp task if (0)
    step();
    other();
  }
}

APART void spawn(void) {
#pragma omp task
  leaf();
  sums[2]++;
}

APART void tasks(void) {
#pragma omp parallel num_threads(TEAM)
  {
    spawn();
#pragma omp taskwait
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_set_max_active_levels(2);
  chosen = truth_arg(argc, argv, 1, 0);
  if (chosen == 0)
    step();
  else if (chosen == 1)
    either();
  else if (chosen == 2)
    outer();
  else if (chosen == 3)
    tasks();
  else if (chosen == 5)
    halves();
  else if (chosen == 6)
    mixed();
  else
    plain();
  sums[0]++;
  return 0;
}
