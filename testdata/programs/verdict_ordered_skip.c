/* Iteration 1 of an ordered loop spins in its ordered region until a later iteration has executed its own; iteration 2
 * has no ordered region, and waits for its turn at its end. "1": healthy, iteration 1 works in its ordered region.
 *
 * The threads are those of a child without other threads; its parent waits. */
#include "truth.h"

static volatile int passed;
static long healthy;

__attribute__((noinline)) static void step(int i) {
#pragma omp ordered
  {
    if (i == 1 && healthy) {
      for (;;)
        pause(); /* works on, for ever */
    }
    if (i == 1) {
      truth_watched(4);
      while (!passed)
        continue;
    }
    passed = i == 3;
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  healthy = truth_arg(argc, argv, 1, 0);
  truth_child(healthy ? 3 : 4);
#pragma omp parallel num_threads(4)
#pragma omp for ordered schedule(static, 1)
  for (int i = 0; i < 4; i++) {
    if (i != 1)
      truth_watched(healthy ? 3 : 4);
    if (i == 1 || i == 3)
      step(i);
  }
  return 0;
}
