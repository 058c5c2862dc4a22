/* A thread of a team ends inside the parallel region, and the others
 * wait for it at a barrier. With 1 it is in the region, and only late. */
#include "truth.h"

static volatile int ending, parted;
static long late;

/* look waits until the thread that ends has ended, and the others are at the barrier. */
static void *look(void *unused) {
  char path[64];
  struct timespec pause = {0, 1000000};
  (void)unused;
  truth_until(&ending);
  snprintf(path, sizeof path, "/proc/self/task/%d", ending);
  while (!late && access(path, F_OK) == 0)
    nanosleep(&pause, NULL);
  truth_await(late ? 3 : 2);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void part(void) {
  __atomic_store_n(&ending, truth_tid(), __ATOMIC_SEQ_CST);
  pthread_exit(NULL);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  late = truth_arg(argc, argv, 1, 0);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 2 && !late)
      part();
    TRUTH_REGION(__LINE__ - 4);
    if (omp_get_thread_num() == 2) {
      truth_set(&ending);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    parted = 1;
  }
  return 0;
}
