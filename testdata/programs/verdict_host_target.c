/* A thread in a target region that the host executes waits for a lock, whose holder waits for it at a barrier: in a
 * parallel region (0), or in a region inside of the target region (1). The second argument 1 makes it healthy: the
 * thread computes in the target region. */
#include "truth.h"

static omp_lock_t table;
static volatile int held, sum;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void wait_here(void) {
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &table, __LINE__ + 1);
  omp_set_lock(&table);
  TRUTH_NEVER();
}

static void compute(void) { truth_hold("work_parallel", 1); }

__attribute__((noinline)) static void hold_lock(void) {
  omp_set_lock(&table);
  truth_set(&held);
  truth_enter(TRUTH_ASLEEP, "wait_barrier_explicit", 0, "", "", 0);
#pragma omp barrier
  sum++;
}

static void (*volatile call)(void); /* a device would need the code of a function called by name */

__attribute__((noinline)) static void in_target(int inner) {
  void (*in)(void) = call;
#pragma omp target map(to : inner)
  {
    if (inner) {
#pragma omp parallel num_threads(2)
      if (omp_get_thread_num() == 0)
        in();
    } else {
      in();
    }
  }
  sum++;
}

int main(int argc, char **argv) {
  pthread_t observer;
  int inner = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&table);
  omp_set_max_active_levels(2);
  call = truth_arg(argc, argv, 2, 0) ? compute : wait_here;
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1)
      in_target(inner);
    else
      hold_lock();
#pragma omp barrier
  }
  return 0;
}
