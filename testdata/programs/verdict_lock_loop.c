/* Three threads acquire two locks of an array each, in a loop around another loop, and wait for each
 * other in its last iteration. First argument: 0 locks of the program, 1 on the heap. Second argument:
 * 0 hangs; with 1, the first thread works with its lock instead of waiting for the next one. */
#include "truth.h"
#include <stdlib.h>

enum { SIZE = 3, LAST = 4 };

static omp_lock_t table[SIZE], *shelf;
static volatile int met[SIZE];
static int heap, twin;

__attribute__((noinline)) static void meet(int me) {
  truth_set(&met[me]);
  for (int i = 0; i < SIZE; i++)
    truth_until(&met[i]);
  if (twin && me == 0)
    TRUTH_HOLD("work_parallel");
}

__attribute__((noinline)) static void transfer(int me) {
  for (int turn = 0; turn <= LAST; turn++) {
    int from = (me + turn * SIZE) % SIZE, to = (from + 1) % SIZE;
    if (from == to)
      continue;
    omp_set_lock(&table[from]);
    for (volatile int i = 0; i < 20; i++)
      ;
    if (turn < LAST) {
      omp_unset_lock(&table[from]);
      continue;
    }
    meet(me);
    TRUTH_WAIT("wait_lock", &table[to], __LINE__ + 1);
    omp_set_lock(&table[to]);
    omp_unset_lock(&table[to]);
    omp_unset_lock(&table[from]);
  }
}

__attribute__((noinline)) static void transfer_heap(int me) {
  for (int turn = 0; turn <= LAST; turn++) {
    int from = (me + turn * SIZE) % SIZE, to = (from + 1) % SIZE;
    if (from == to)
      continue;
    omp_set_lock(&shelf[from]);
    for (volatile int i = 0; i < 20; i++)
      ;
    if (turn < LAST) {
      omp_unset_lock(&shelf[from]);
      continue;
    }
    meet(me);
    TRUTH_WAIT("wait_lock", &shelf[to], __LINE__ + 1);
    omp_set_lock(&shelf[to]);
    omp_unset_lock(&shelf[to]);
    omp_unset_lock(&shelf[from]);
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  heap = (int)truth_arg(argc, argv, 1, 0);
  twin = (int)truth_arg(argc, argv, 2, 0);
  shelf = (omp_lock_t *)malloc(SIZE * sizeof *shelf);
  for (int i = 0; i < SIZE; i++) {
    omp_init_lock(&table[i]);
    omp_init_lock(&shelf[i]);
  }
#pragma omp parallel num_threads(SIZE + 1)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == SIZE)
      truth_trigger("work_parallel", SIZE);
    else if (heap)
      transfer_heap(me);
    else
      transfer(me);
  }
  return 0;
}
