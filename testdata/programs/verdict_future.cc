/* All threads of a team wait in vain: "0" for the value of a promise, "1" for one more
 * turn on a condition variable. A second argument of 1: one more thread works, and does it later. */
#include "truth.h"
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

static int way;
static std::promise<int> promise;
static std::shared_future<int> future;

struct Channel {
  std::mutex mutex;
  std::condition_variable filled;
  int items = 0;
  int take() {
    std::unique_lock<std::mutex> lock(mutex);
    filled.wait(lock, [this] { return items > 0; });
    return items--;
  }
  void put() {
    std::lock_guard<std::mutex> lock(mutex);
    items++;
    filled.notify_one();
  }
};
static Channel channel;

__attribute__((noinline)) static int need() {
  truth_watched(3);
  if (way == 1)
    return channel.take();
  return future.get();
}

static void produce() {
  for (;;)
    pause(); /* works on, for ever */
  promise.set_value(1);
  channel.put();
}

int main(int argc, char **argv) {
  int sum = 0;
  way = (int)truth_arg(argc, argv, 1, 0);
  truth_child(3);
  truth_init(argc, argv, __FILE__);
  future = promise.get_future().share();
  if (truth_arg(argc, argv, 2, 0) == 1)
    std::thread(produce).detach();
#pragma omp parallel num_threads(3) reduction(+ : sum)
  sum += need();
  return sum;
}
