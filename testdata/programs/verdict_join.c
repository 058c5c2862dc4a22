/* A thread of a team waits for the end of a thread that the program created itself,
 * and holds a lock that this thread wants. With argv[2] 1, the other one works. */
#include "truth.h"

static omp_lock_t results;
static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *collect(void *works) {
  truth_until(&held);
  if (works)
    TRUTH_HOLD("work_serial");
  TRUTH_WAIT("wait_lock", &results, __LINE__ + 1);
  omp_set_lock(&results);
  TRUTH_NEVER();
  return NULL;
}

__attribute__((noinline)) static void gather(pthread_t helper) {
  omp_set_lock(&results);
  truth_set(&held);
  TRUTH_SLEEP("work_parallel", 0, __LINE__ + 1);
  pthread_join(helper, NULL);
  TRUTH_NEVER();
  omp_unset_lock(&results);
}

int main(int argc, char **argv) {
  pthread_t observer, helper;
  long works = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&results);
  pthread_create(&observer, NULL, look, (void *)3);
  pthread_create(&helper, NULL, collect, (void *)works);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      gather(helper);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
