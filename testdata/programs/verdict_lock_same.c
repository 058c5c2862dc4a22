/* Thread 1 waits for the lock of a pool that it holds itself, and the other threads have come to the end of the region.
 * The frames do not keep which lock it acquired first. "0": numbers in memory select it. "1": it is chosen by a
 * condition. "2": in a loop that is shared out. "3": a thread that is at the end of the region has left the lock, in a
 * function that returns with it. A second argument of 1: thread 1 works, and thread 2 waits for its lock. */
#include "truth.h"

static omp_lock_t pool[16];
static long healthy;
static volatile int taken, rounds = 2, chosen = 1;
static volatile long total;
static volatile int outer[4][2] = {{8, 9}, {2, 1}, {10, 11}, {12, 13}};
static volatile int inner[4][2] = {{9, 8}, {3, 1}, {11, 1}, {13, 12}};

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void lock(int number) {
  omp_set_lock(&pool[number % 16]);
  total++;
}

__attribute__((noinline)) static void unlock(int number) {
  total++;
  omp_unset_lock(&pool[number % 16]);
}

/* arrive is called before the second lock of a round. */
__attribute__((noinline)) static void arrive(int thread, int round) {
  if (round == 0)
    return;
  if (thread == 2 && healthy)
    truth_until(&taken);
  if (thread == 1 && healthy) {
    truth_set(&taken);
    TRUTH_HOLD("");
  }
  if (thread == 1 || (thread == 2 && healthy))
    TRUTH_WAIT("", 0, 0);
}

__attribute__((noinline)) static void take(int thread, int round) {
  lock(outer[thread][round]);
  if (thread == 1) {
    truth_until(&taken);
    TRUTH_WAIT("", 0, 0);
    lock(8);
  }
}

static void ways(long way) {
  if (way == 0)
#pragma omp parallel num_threads(4)
  {
    int thread = omp_get_thread_num();
    for (int i = 0; i < rounds; i++) {
      lock(outer[thread][i]);
      arrive(thread, i);
      if (inner[thread][i] != 11 && (thread != 2 || healthy)) {
        lock(inner[thread][i]);
        unlock(inner[thread][i]);
      }
      unlock(outer[thread][i]);
    }
    TRUTH_JOIN(0);
  }
  else if (way == 1)
#pragma omp parallel num_threads(4)
  {
    int thread = omp_get_thread_num();
    for (int i = 0; i < rounds; i++) {
      int number = thread == chosen ? i : thread + 4;
      omp_set_lock(&pool[number + 8 * (thread == 0)]);
      arrive(thread, i);
      if (i == 1 && (thread == 1 || (thread == 2 && healthy))) {
        lock(1);
        unlock(1);
      }
      omp_unset_lock(&pool[number + 8 * (thread == 0)]);
    }
    TRUTH_JOIN(0);
  }
  else if (way == 2)
#pragma omp parallel num_threads(4)
  {
#pragma omp for schedule(static, 2) nowait
    for (int k = 0; k < 8; k++) {
      lock(outer[k / 2][k % 2]);
      arrive(k / 2, k % 2);
      if (k / 2 != 2 || healthy) {
        lock(inner[k / 2][k % 2]);
        unlock(inner[k / 2][k % 2]);
      }
      unlock(outer[k / 2][k % 2]);
    }
    TRUTH_JOIN(0);
  }
  else
#pragma omp parallel num_threads(4)
  {
    int thread = omp_get_thread_num();
    if (healthy && thread == 1) {
      lock(8);
      arrive(thread, 1);
      unlock(8);
    } else if (healthy && thread == 2) {
      arrive(thread, 1);
      lock(8);
    } else if (!healthy) {
      take(thread, 0);
      if (thread == 0)
        truth_set(&taken);
    }
    TRUTH_JOIN(0);
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  healthy = truth_arg(argc, argv, 2, 0);
  for (int i = 0; i < 16; i++)
    omp_init_lock(&pool[i]);
  pthread_create(&observer, NULL, look, (void *)4L);
  ways(truth_arg(argc, argv, 1, 0));
  return 0;
}
