/* A deadlock: thread 0 holds the first lock and wants the second,
 * thread 1 the other way round. Thread 2 is not involved. */
#include "truth.h"

static omp_lock_t first, second;
static volatile int held_first, held_second;

__attribute__((noinline)) static void deposit(void) {
  omp_set_lock(&first);
  truth_set(&held_first);
  truth_until(&held_second);
  TRUTH_WAIT("wait_lock", &second, __LINE__ + 1);
  omp_set_lock(&second);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void withdraw(void) {
  omp_set_lock(&second);
  truth_set(&held_second);
  truth_until(&held_first);
  TRUTH_WAIT("wait_lock", &first, __LINE__ + 1);
  omp_set_lock(&first);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&first);
  omp_init_lock(&second);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      deposit();
    else if (omp_get_thread_num() == 1)
      withdraw();
    else
      truth_trigger("work_parallel", 2);
  }
  return 0;
}
