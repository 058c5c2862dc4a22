// Static variables of functions, which one thread initializes while others wait.
// 0: the initializer has a parallel region with threads that use the variable.
// 1: it waits at a barrier of its team, and the others wait for it.
// 2: it computes while the others wait, and one thread has long passed another variable: no verdict.
#include "truth.h"
#include <cmath>

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static double root(int i);

struct Roots {
  double of[64];
  Roots() {
    for (int i = 0; i < 64; i++)
      of[i] = std::sqrt((double)i);
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += root(omp_get_thread_num());
    of[0] = sum;
  }
};

static const Roots &roots() {
  static Roots all;
  return all;
}

__attribute__((noinline)) static double root(int i) {
  TRUTH_WAIT("wait_static", 0, 0);
  return roots().of[i];
}

__attribute__((noinline)) static int met() {
  TRUTH_WAIT("wait_barrier", 0, __LINE__ + 1);
#pragma omp barrier
  return 3;
}

__attribute__((noinline)) static int meeting() {
  static int count = met();
  return count;
}

static volatile int begun;

__attribute__((noinline)) static int slow() {
  truth_set(&begun);
  TRUTH_HOLD("work_parallel");
  return omp_get_num_threads();
}

__attribute__((noinline)) static int size() {
  static int threads = slow();
  return threads;
}

__attribute__((noinline)) static int ready() {
  static int pid = getpid();
  return pid;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long mode = truth_arg(argc, argv, 1, 0);
  pthread_create(&observer, NULL, look, (void *)(mode == 0 ? 2L : 3L));
  if (mode == 0)
    return roots().of[0] > 0;
  int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (mode == 1) {
      TRUTH_WAIT("wait_static", 0, 0); /* all threads except one */
      sum += meeting();
    } else {
      sum += ready();
      if (omp_get_thread_num() > 0) {
        truth_until(&begun);
        TRUTH_WAIT("wait_static", 0, 0);
      }
      sum += size();
    }
  }
  return sum;
}
