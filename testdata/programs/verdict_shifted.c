/* Barriers that are shifted: one thread comes to another number of barriers, and the team hangs at barriers far from
 * that place. A function with a barrier is called in a master construct (0), under a condition on the thread's number
 * (1), or in a single construct (2); a thread returns between two barriers (3). The second argument 1 makes it
 * healthy: all threads come to all barriers, and one thread is at work. */
#include "truth.h"

static volatile int healthy, sum;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void sync_all(void) {
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void count(void) { sum++; }

__attribute__((noinline)) static void in_master(void) {
#pragma omp barrier
#pragma omp master
  {
    count();
    sync_all();
  }
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void by_number(void) {
  int me = omp_get_thread_num();
#pragma omp barrier
  if (me == 0) {
    count();
    sync_all();
  }
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void in_single(void) {
#pragma omp barrier
#pragma omp single nowait
  {
    count();
    sync_all();
  }
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void returns(int leaves) {
#pragma omp barrier
  count();
  if (leaves)
    return;
  count();
#pragma omp barrier
  sum++;
}

/* The healthy twins: the same constructs, around a function without barriers. */
__attribute__((noinline)) static void all_come(void) {
#pragma omp barrier
#pragma omp master
  count();
#pragma omp barrier
  if (omp_get_thread_num() == 0)
    count();
  sync_all();
#pragma omp single nowait
  count();
  if (omp_get_thread_num() == 2)
    truth_hold("work_parallel", 1);
#pragma omp barrier
  sum++;
}

/* Where the others wait, they may spin. */
#define REGION(way) \
  _Pragma("omp parallel num_threads(3)") { \
    truth_enter(TRUTH_ASLEEP, "wait_barrier", 0, "", "", 0); \
    way; \
    sum++; \
  }

int main(int argc, char **argv) {
  pthread_t observer;
  long which = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)3);
  if (healthy)
    which = 4;
  switch (which) {
  case 0: REGION(in_master()) break;
  case 1: REGION(by_number()) break;
  case 2: REGION(in_single()) break;
  case 3: REGION(returns(omp_get_thread_num() == 1)) break;
  case 4: REGION(all_come()) break;
  }
  return 0;
}
