/* Three roots: the main thread, which works serially, and two pthreads that each open a region of
 * two threads. In the first region thread 0 triggers and thread 1 is in a barrier; in the second
 * thread 1 works and thread 0 is in the barrier. */
#include "truth.h"

static void *root(void *arg) {
  int first = arg == NULL, me = truth_tid();
#pragma omp parallel num_threads(2)
  {
    truth_region(__LINE__ - 2, me);
    if (omp_get_thread_num() == (first ? 0 : 1)) {
      if (first)
        truth_trigger("work_parallel", 4);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  int second;
  truth_init(argc, argv, __FILE__);
  pthread_create(&threads[0], NULL, root, NULL);
  pthread_create(&threads[1], NULL, root, &second);
  TRUTH_HOLD("work_serial");
  return 0;
}
