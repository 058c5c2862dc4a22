// A member function acquires a lock and throws an exception itself, so that compilers move the throw into a part of its
// own, away from the rest of the function. A caller catches the exception; the lock stays acquired, and all threads wait
// for it. Argument of 1: nothing is thrown, and a thread that works holds the lock.
#include "truth.h"
#include <stdexcept>

static int healthy;
static volatile int taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void works() {
  while (healthy)
    pause();
}

class Store {
  omp_lock_t door;
  double level[8], total = 0;

public:
  Store() {
    omp_init_lock(&door);
    for (int i = 0; i < 8; i++)
      level[i] = i;
  }
  void drain(int cell, double much) { level[cell] -= much; }
  double settle(int cell);
  void keep() {
    omp_set_lock(&door);
    truth_set(&taken);
    works();
    omp_unset_lock(&door);
  }
};

__attribute__((noinline)) double Store::settle(int cell) {
  omp_set_lock(&door);
  if (level[cell] < 0) throw std::range_error("negative"); // the way without a release
  double sum = 0;
  for (int i = 0; i < 8; i++)
    sum += level[i] * total;
  total = sum + level[cell];
  omp_unset_lock(&door);
  return sum;
}

__attribute__((noinline)) static double step(Store &s, int me) {
  double sum = 0;
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 1) {
#pragma omp barrier
      if (healthy && me == 1)
        s.keep();
      if (healthy)
        truth_until(&taken);
      TRUTH_WAIT("wait_lock", 0, 0);
    }
    if (turn == 0 && me == 0 && !healthy)
      s.drain(3, 9);
    if (turn == 1 || me == 0) {
      try {
        sum += s.settle(turn == 0 ? 3 : me);
      } catch (const std::exception &) {
        usleep(1);
      }
    }
  }
  return sum;
}

int main(int argc, char **argv) {
  pthread_t observer;
  double sum = 0;
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 1, 0);
  Store s;
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum += step(s, omp_get_thread_num());
  }
  return sum < 0;
}
