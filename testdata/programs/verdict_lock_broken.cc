// A thread crashes in a function of LLVM's runtime for locks: the memory that it gives to the function is no lock. "0":
// in the block of the heap after that of the locks, "1": after the last element of a std::vector, in the room that it
// has reserved, "2": an element of it that was not initialized. Second argument: the first word of that memory, by
// which the runtime finds the function's code. Third argument of 1: the thread releases the lock.
#include "truth.h"
#include <vector>

enum { count = 64 };
struct grid {
  std::vector<omp_lock_t> locks;
  std::vector<unsigned> cells;
};

static grid table;
static volatile int turns;

__attribute__((noinline)) static void enter(long at) {
  omp_set_lock(&table.locks[at]);
  turns++;
}

__attribute__((noinline)) static void leave(long at) {
  omp_unset_lock(&table.locks[at]);
  turns--;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  int way = (int)truth_arg(argc, argv, 1, 0), releases = (int)truth_arg(argc, argv, 3, 0);
  if (way == 1)
    table.locks.reserve(2 * count);
  table.locks.resize(count);
  table.cells.resize(4096);
  for (int i = 0; i < count - 1; i++)
    omp_init_lock(&table.locks[i]);
  long after = ((char *)table.cells.data() - (char *)table.locks.data()) / (long)sizeof(omp_lock_t) + 4;
  long at = way == 0 ? after : way == 1 ? count : count - 1;
  *(volatile unsigned *)(table.locks.data() + at) = (unsigned)truth_arg(argc, argv, 2, 1);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      TRUTH_HOLD("work_parallel");
    truth_await(1);
    truth_write(1);
    if (releases)
      leave(at);
    else
      enter(at);
  }
  return 0;
}
