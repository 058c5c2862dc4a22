// A lock is left by an exception out of a call between its acquisition and its release. The next call,
// on a container of the C++ library, throws an exception again if the first allocation of it fails: it
// is no explanation. With argv[2] 1, the call works, and would return.
#include "truth.h"
#include <memory>
#include <stdexcept>
#include <unordered_map>

struct Entry {
  int key;
};

static volatile int left, works = 1;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

class Registry {
  omp_lock_t lock;
  std::unordered_map<int, std::shared_ptr<Entry>> entries;

public:
  Registry() { omp_init_lock(&lock); }
  template <class Make>
  __attribute__((noinline)) std::shared_ptr<Entry> find(int key, Make &&make) {
    omp_set_lock(&lock);
    auto known = entries.find(key);
    if (known != entries.end()) {
      auto entry = known->second;
      omp_unset_lock(&lock);
      return entry;
    }
    auto entry = make(key); // the way without a release
    entries.emplace(key, entry);
    omp_unset_lock(&lock);
    return entry;
  }
};

static Registry registry;

struct Load {
  __attribute__((noinline)) std::shared_ptr<Entry> operator()(int key) const {
    if (key == 5)
      throw std::runtime_error("no such entry");
    if (key == 7) {
      truth_set(&left);
      truth_enter(TRUTH_HELD, "work_parallel", 0, __func__, __FILE__, __LINE__ + 1);
      while (works)
        pause();
    }
    return std::make_shared<Entry>(Entry{key});
  }
};

__attribute__((noinline)) static int use(int key) {
  try {
    return registry.find(key, Load())->key;
  } catch (const std::runtime_error &) { return -1; }
}

int main(int argc, char **argv) {
  pthread_t observer;
  long healthy = truth_arg(argc, argv, 1, 0);
  int sum = 0;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    if (omp_get_thread_num() == 0) {
      sum += use(healthy ? 7 : 5);
      truth_set(&left);
    }
    truth_until(&left);
    TRUTH_WAIT("wait_lock", 0, 0);
    sum += use(1);
  }
  return sum;
}
