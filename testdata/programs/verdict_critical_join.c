/* Each thread of a team starts another thread, which enters a critical section; thread 0 waits for its end in the same
 * critical section, and all others wait for that. "0 1": the threads that were started work.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static int healthy;
static volatile int inside, started;

static void *count(void *unused) {
  (void)unused;
  if (healthy) {
    truth_set(&started);
    for (;;)
      pause();
  }
  truth_until(&inside);
  truth_watched(4);
#pragma omp critical(desk)
  started++;
  return NULL;
}

int main(int argc, char **argv) {
  healthy = (int)truth_arg(argc, argv, 2, 0);
  truth_child(healthy ? 2 : 4);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    pthread_t other;
    pthread_create(&other, NULL, count, NULL);
    if (healthy) {
      truth_until(&started);
      truth_watched(2);
      pthread_join(other, NULL);
    } else {
      if (omp_get_thread_num() == 1) {
        truth_until(&inside);
        truth_watched(4);
      }
#pragma omp critical(desk)
      {
        truth_set(&inside);
        if (omp_get_thread_num() == 0)
          truth_watched(4);
        pthread_join(other, NULL);
      }
    }
  }
  return 0;
}
