// A function that gets two locks of the caller's array by reference acquires them: two threads pass them in different
// orders. Argument of 1: both threads pass the same order, and the one that holds both locks works.
#include "truth.h"

static int same;
static volatile int here[2], taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void arrive(int me) {
  truth_set(&here[me]);
  truth_until(&here[1 - me]);
  if (!same)
    TRUTH_WAIT("wait_lock", 0, 0);
}

__attribute__((noinline)) static void works() {
  truth_set(&taken);
  while (same)
    pause(); // for ever
}

struct Plant {
  long made;
  __attribute__((noinline)) void join(omp_lock_t &first, omp_lock_t &second, int me);
};

__attribute__((noinline)) void Plant::join(omp_lock_t &first, omp_lock_t &second, int me) {
  if (same && me == 1) {
    truth_until(&taken);
    TRUTH_WAIT("wait_lock", 0, 0);
  }
  omp_set_lock(&first); // the outer one
  if (!same)
    arrive(me);
  omp_set_lock(&second);
  works();
  made++;
  omp_unset_lock(&second);
  omp_unset_lock(&first);
}

int main(int argc, char **argv) {
  pthread_t observer;
  omp_lock_t gate[2];
  Plant plant = {0};
  truth_init(argc, argv, __FILE__);
  same = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&gate[0]);
  omp_init_lock(&gate[1]);
  pthread_create(&observer, NULL, look, (void *)(same ? 1L : 2L));
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    plant.join(gate[same ? 0 : me], gate[same ? 1 : 1 - me], me);
  }
  return plant.made < 0;
}
