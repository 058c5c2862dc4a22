/* Looks like an orphaned lock but is healthy: the working thread
 * releases it, in code that the compiler considers unlikely: GCC's -O2
 * moves that away from the rest of the function, and branches to it. */
#include "truth.h"

static omp_lock_t journal;
static volatile int held, rare;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline, cold)) static void complain(int n) { fprintf(stderr, "%d\n", n); }

__attribute__((noinline)) static void take(void) {
  omp_set_lock(&journal);
  truth_set(&held);
}

/* The compiler is not to see that it does not return. */
static void hold(void) { TRUTH_HOLD("work_parallel"); }
static void (*volatile stay)(void) = hold;

__attribute__((noinline)) static int work(int n) {
  stay();
  for (int i = 0; i < n; i++)
    if (rare == i) {
      complain(i);
      omp_unset_lock(&journal);
      complain(n);
      return i;
    }
  return n;
}

__attribute__((noinline)) static void wait_for_it(void) {
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &journal, __LINE__ + 1);
  omp_set_lock(&journal);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&journal);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      take();
      rare = work(argc + 10);
    } else
      wait_for_it();
  }
  return 0;
}
