/* More threads than processors are at work, or argv[3] threads. With argv[2] 1, one of them
 * works, and the others spin at a barrier; with 2, all spin, and wait for a lock of a sleeping
 * thread; with 3, for a lock of a working thread; with 4, all reach barriers repeatedly. */
#include "truth.h"

static omp_lock_t lock;
static volatile int held;
static volatile long sink;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void work(void) {
  TRUTH_WAIT("work_parallel", 0, __LINE__ + 2);
  for (;;)
    sink++;
}

__attribute__((noinline)) static void queue(void) {
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &lock, __LINE__ + 1);
  omp_set_lock(&lock);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void keep(int works) {
  omp_set_lock(&lock);
  truth_set(&held);
  if (works)
    work();
  TRUTH_HOLD("work_parallel");
  omp_unset_lock(&lock);
}

int main(int argc, char **argv) {
  pthread_t observer;
  int what = (int)truth_arg(argc, argv, 1, 0);
  long threads = truth_arg(argc, argv, 2, omp_get_num_procs() + 2);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&lock);
  pthread_create(&observer, NULL, look, (void *)threads);
#pragma omp parallel num_threads(threads)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (what == 0 || (what == 1 && me == 1))
      work();
    else if ((what == 2 || what == 3) && me == 0)
      keep(what == 3);
    else if (what == 2 || what == 3)
      queue();
    TRUTH_WAIT("wait_barrier_explicit", 0, 0);
    do {
#pragma omp barrier
    } while (what == 4);
    TRUTH_NEVER();
  }
  return 0;
}
