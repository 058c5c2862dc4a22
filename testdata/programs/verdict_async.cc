/* A thread of a team holds a mutex, starts a function by std::async that needs it, and waits for its result; the rest of
 * the team waits for the mutex, too. "1": it releases the mutex before, and the function works.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"
#include <future>
#include <mutex>

static std::mutex ledger;
static volatile int taken;
static long sum;
static bool healthy;

__attribute__((noinline)) static void works() {
  for (;;)
    pause();
}

__attribute__((noinline)) static long audit() {
  if (healthy)
    works();
  truth_watched(3);
  std::lock_guard<std::mutex> lock(ledger);
  return sum;
}

__attribute__((noinline)) static void post(int me) {
  if (me > 0)
    truth_until(&taken);
  if (me > 0)
    truth_watched(healthy ? 2 : 3);
  std::unique_lock<std::mutex> lock(ledger);
  truth_set(&taken);
  sum += me;
  if (healthy)
    lock.unlock();
  if (me == 0)
    sum += std::async(std::launch::async, audit).get();
}

int main(int argc, char **argv) {
  healthy = truth_arg(argc, argv, 1, 0) == 1;
  truth_child(healthy ? 2 : 3);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3)
  post(omp_get_thread_num());
  return 0;
}
