/* A region of four threads is over: its workers are idle, the initial thread works serially. */
#include "truth.h"

static void region(void) {
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() != 0)
      truth_enter(TRUTH_ASLEEP, "idle", 0, "", "", 0);
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  region();
  truth_trigger("work_serial", 3);
  return 0;
}
