/* One thread locks a std::mutex and another unlocks it: "0" by the mutex's own functions, "1" by a
 * std::unique_lock that is released in the one and constructed from the mutex in the other. With a second
 * argument of 1, the thread that must unlock it first waits for a lock that the initial thread holds. */
#include "handover.h"
#include <mutex>

static std::mutex door;

struct room {
  std::mutex inner;
  double slot;
};

static void by_member(int round) {
  door.lock();
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      before_release(round);
      door.unlock();
    } else {
      waits();
      std::lock_guard<std::mutex> guard(door);
      sink = sink + 1;
    }
  }
}

__attribute__((noinline)) static void fill(room &r, int n) {
  std::unique_lock<std::mutex> lock(r.inner, std::adopt_lock);
  before_release(n);
  r.slot = n;
}

static void by_guard(int round) {
  static room r;
  std::unique_lock<std::mutex> lock(r.inner);
  lock.release();
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      fill(r, round);
    } else {
      waits();
      std::unique_lock<std::mutex> again(r.inner);
      sink = sink + r.slot;
    }
  }
}

int main(int argc, char **argv) {
  const int waiting[] = {2, 2};
  int round = 0;
  long form = begin(argc, argv, __FILE__, waiting);
  do
    (form ? by_guard : by_member)(round);
  while (round++, !over);
  return end(round);
}
