/* The implicit barrier of a single construct of three threads: one of them is still in it. */
#include "truth.h"

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    TRUTH_SLEEP("wait_barrier_implicit_workshare", 0, __LINE__ + 1);
#pragma omp single
    truth_trigger("work_parallel", 2);
    TRUTH_NEVER();
  }
  return 0;
}
