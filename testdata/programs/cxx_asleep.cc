// Thread 1 sleeps as C++ programs do, in a function that has locked a std::mutex; the others wait for that mutex.
#include "truth.h"
#include <chrono>
#include <mutex>
#include <thread>

static std::mutex stock;
static volatile int inside;

__attribute__((noinline)) static void rest() {
  std::lock_guard<std::mutex> guard(stock);
  truth_set(&inside);
  std::this_thread::sleep_for(std::chrono::hours(20));
}

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      rest();
    truth_until(&inside);
    TRUTH_SLEEP("wait_mutex", 0, __LINE__ + 1);
    stock.lock();
    TRUTH_NEVER();
  }
  return 0;
}
