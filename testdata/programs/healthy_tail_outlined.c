/* Looks like a lock that nobody releases but is healthy: one thread holds a lock and works, and the function of the
 * region ends in the call with which the others ask for it. While they wait, no frame of the program is on their
 * stacks. */
#include "truth.h"

static omp_lock_t door;
static volatile int go_on = 1; /* else the compiler knows that work never returns */

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void work(void) {
  if (go_on)
    TRUTH_HOLD("work_parallel");
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&door);
  pthread_create(&observer, NULL, look, (void *)4L);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 0)
      omp_set_lock(&door);
#pragma omp barrier
    if (me == 0) {
      work();
      omp_unset_lock(&door);
    } else {
      TRUTH_WAIT("wait_lock", &door, __LINE__ + 1);
      omp_set_lock(&door);
    }
  }
  return 0;
}
