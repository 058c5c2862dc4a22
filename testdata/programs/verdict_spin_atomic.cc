// All threads of a team wait for an atomic floating-point number of C++ to change, in vain: "0" a double, "1" a float
// that must be above a limit. A second argument of 1: one more thread works, and changes it later.
//
// The threads are those of a child without working threads; its parent waits.
#include "truth.h"
#include <atomic>

static std::atomic<double> voltage{1.5};
static std::atomic<float> share{0.25f};
static volatile int working = 1;

__attribute__((noinline)) static void charged() {
  while (voltage.load(std::memory_order_acquire) != 3.5)
    ;
}

__attribute__((noinline)) static void reaches(float limit) {
  while (!(share >= limit))
    ;
}

static void *later(void *unused) {
  while (working)
    pause();
  voltage = 3.5;
  share = 1;
  return unused;
}

int main(int argc, char **argv) {
  pthread_t worker;
  long way = truth_arg(argc, argv, 1, 0);
  volatile float limit = 0.75f;
  truth_child(3);
  truth_init(argc, argv, __FILE__);
  if (truth_arg(argc, argv, 2, 0) == 1)
    pthread_create(&worker, NULL, later, NULL);
#pragma omp parallel num_threads(3)
  {
    truth_watched(3);
    if (way == 0)
      charged();
    else
      reaches(limit);
  }
  return 0;
}
