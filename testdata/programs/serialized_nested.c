/* One active level and, inside thread 1 of its team of two, three serialized levels. */
#include "truth.h"

static void third(void) {
#pragma omp parallel num_threads(1)
  {
    TRUTH_REGION(__LINE__ - 2);
    truth_trigger("work_parallel", 1);
  }
}

static void second(void) {
#pragma omp parallel num_threads(1)
  {
    TRUTH_REGION(__LINE__ - 2);
    third();
  }
}

static void first(void) {
#pragma omp parallel num_threads(1)
  {
    TRUTH_REGION(__LINE__ - 2);
    second();
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      first();
    TRUTH_JOIN(__LINE__ - 5);
  }
  return 0;
}
