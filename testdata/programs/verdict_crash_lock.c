/* A thread uses a null pointer while it holds a lock
 * and is in a critical section that others wait for. */
#include "truth.h"

static omp_lock_t queue;
static volatile int ready;
static int *volatile empty;

__attribute__((noinline)) static void drain(void) {
  omp_set_lock(&queue);
#pragma omp critical(journal)
  {
    truth_set(&ready);
    truth_await(2);
    truth_write(1);
    *empty = 1;
  }
  omp_unset_lock(&queue);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&queue);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      drain();
    } else if (omp_get_thread_num() == 2) {
      truth_until(&ready);
      TRUTH_WAIT("wait_lock", &queue, __LINE__ + 1);
      omp_set_lock(&queue);
      TRUTH_NEVER();
    } else {
      truth_until(&ready);
      TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(journal)
      TRUTH_NEVER();
    }
  }
  return 0;
}
