// A team of three waits at a latch for four, one after the other: the first ones sleep on
// a count that has changed since. "1": one more thread works, and counts it down later.
#include "truth.h"
#include <latch>
#include <thread>

static std::latch gate(4);
static volatile int came;

__attribute__((noinline)) static void enter(int me) {
  while (came < me)
    usleep(1000);
  if (me > 0)
    usleep(200000); /* the one before sleeps */
  came = me + 1;
  truth_watched(3);
  gate.arrive_and_wait();
  TRUTH_NEVER();
}

static void late() {
  for (;;)
    pause(); /* works on, for ever */
  gate.count_down();
}

int main(int argc, char **argv) {
  truth_child(3);
  truth_init(argc, argv, __FILE__);
  if (truth_arg(argc, argv, 1, 0) == 1)
    std::thread(late).detach();
#pragma omp parallel num_threads(3)
  enter(omp_get_thread_num());
  return 0;
}
