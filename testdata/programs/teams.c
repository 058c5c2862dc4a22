/* A teams construct on the host: a league of two teams, in each a region of two threads. Thread 1
 * of the region in team 1 is missing at its barrier and triggers; that in team 0 works. */
#include "truth.h"

/* On one processor, the regions would have one thread: both are numbers of processors if unset. */
__attribute__((constructor)) static void more_threads(void) {
  setenv("OMP_NUM_THREADS", "2", 1);
  setenv("KMP_TEAMS_THREAD_LIMIT", "8", 1);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp teams num_teams(2) thread_limit(3)
  {
#pragma omp parallel num_threads(2)
    {
      TRUTH_REGION(__LINE__ - 2);
      if (omp_get_thread_num() == 1) {
        if (omp_get_team_num() == 1)
          truth_trigger("work_parallel", 3);
        TRUTH_HOLD("work_parallel");
      }
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    }
  }
  return 0;
}
