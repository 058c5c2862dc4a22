/* The locks are variables of an outer parallel region, and two threads of an inner one take them in opposite orders.
 * "1": in the same order, and the thread that holds both works. */
#include "truth.h"

static int same;
static volatile int here[2], taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void works(void) {
  truth_set(&taken);
  while (same)
    pause(); /* for ever */
}

__attribute__((noinline)) static void arrive(int me) {
  truth_set(&here[me]);
  if (same && me == 1)
    truth_until(&taken);
  else if (!same)
    truth_until(&here[1 - me]);
  if (!same || me == 1)
    TRUTH_WAIT("wait_lock", 0, 0);
}

__attribute__((noinline)) static void brew(void) {
#pragma omp parallel num_threads(1)
  {
    omp_lock_t tap[2];
    omp_init_lock(&tap[0]);
    omp_init_lock(&tap[1]);
#pragma omp parallel num_threads(2)
    {
      int me = omp_get_thread_num(), first = same ? 0 : me;
      if (same)
        arrive(me);
      omp_set_lock(&tap[first]);
      if (!same)
        arrive(me);
      omp_set_lock(&tap[1 - first]);
      works();
      omp_unset_lock(&tap[1 - first]);
      omp_unset_lock(&tap[first]);
    }
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  same = (int)truth_arg(argc, argv, 1, 0);
  omp_set_max_active_levels(2);
  pthread_create(&observer, NULL, look, (void *)(same ? 1L : 2L));
  brew();
  return 0;
}
