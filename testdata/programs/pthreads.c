/* Two plain pthreads that never call the OpenMP runtime,
 * and a team of two with one thread in a barrier. */
#include "truth.h"

static void *plain(void *arg) {
  truth_hold("", 0);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  truth_init(argc, argv, __FILE__);
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, plain, NULL);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      truth_trigger("work_parallel", 3);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
