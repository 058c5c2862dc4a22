/* Functions that are called through a pointer end in a jump to the function of the runtime that forks: no call shows
 * the regions' functions. With the argument 1, thread 0 forks another region in the same way. */
#include "truth.h"

static void inner(void);
static void (*volatile job)(void) = inner;
static long nested;

__attribute__((noinline)) static void stay(int in) {
  if (omp_get_thread_num() == 0 && in == nested)
    truth_trigger("work_parallel", nested ? 3 : 2);
  TRUTH_HOLD("work_parallel");
}

static void inner(void) {
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    stay(1);
  }
}

static void outer(void) {
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    void (*f)(void) = job;
    if (nested && omp_get_thread_num() == 0)
      f();
    stay(0);
  }
}

int main(int argc, char **argv) {
  void (*f)(void);
  truth_init(argc, argv, __FILE__);
  nested = truth_arg(argc, argv, 1, 0);
  omp_set_max_active_levels(2);
  job = outer;
  f = job;
  job = inner;
  f();
  return 0;
}
