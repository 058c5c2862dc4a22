// Threads of a region sleep on the condition variable of a queue that nobody closes, and the initial
// thread waits at the end of the region. It signals nothing after it: only an exception out of a constructor before
// the region would lead to a call through memory. With argv[2] 1, the initial thread would close the
// queue after the region; with 2, a thread that works would; with 3, the handler of an exception that
// such a thread throws.
#include "truth.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

static volatile int works = 1;

class Stock {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<int> items;
  bool closed = false;

public:
  bool take(int *item) {
    std::unique_lock<std::mutex> guard(mutex);
    while (items.empty() && !closed)
      filled.wait(guard);
    if (items.empty())
      return false;
    *item = items.front();
    items.pop_front();
    return true;
  }
  __attribute__((noinline)) void put(int item) {
    std::lock_guard<std::mutex> guard(mutex);
    items.push_back(item);
    filled.notify_one();
  }
  __attribute__((noinline)) void close() {
    std::lock_guard<std::mutex> guard(mutex);
    closed = true;
    filled.notify_all();
  }
};

__attribute__((noinline)) static void refuse() {
  truth_enter(TRUTH_HELD, "work_parallel", 0, __func__, __FILE__, __LINE__ + 2);
  while (works)
    pause();
  throw 1;
}

static void outside(Stock *stock, long way) {
  truth_enter(TRUTH_HELD, "work_parallel", 0, __func__, __FILE__, __LINE__);
  if (way == 3) {
    try {
      refuse();
    } catch (int) { stock->close(); }
  }
  while (works)
    pause();
  if (way == 2)
    stock->close();
}

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return nullptr;
}

static int taken;

template <bool Closes>
__attribute__((noinline)) static int consume(long way) {
  Stock stock;
  if (way > 1) {
    std::thread(outside, &stock, way).detach();
  } else {
    std::thread feed([&] { stock.put(1); });
    feed.join();
  }
#pragma omp parallel num_threads(3)
  {
    int item;
    if (omp_get_thread_num() == 0) {
      TRUTH_JOIN(__LINE__ - 4);
    } else {
      TRUTH_SLEEP("work_parallel", 0, 0);
      while (stock.take(&item))
        __atomic_add_fetch(&taken, item, __ATOMIC_RELAXED);
    }
  }
  if (Closes)
    stock.close();
  return taken;
}

int main(int argc, char **argv) {
  pthread_t observer;
  long way = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, nullptr, look, (void *)(3L + (way > 1)));
  return way == 1 ? consume<true>(way) : consume<false>(way);
}
