// A thread waits in a loop for goods while it holds the lock that the thread with the goods needs: "0" the members of
// a container, with a sleep in the loop; "1" a counter, read by an inlined function, in a critical section. Second
// argument of 1: another thread, which works, adds goods later and needs no lock.
//
// The threads are those of a child without working threads; its parent waits.
#include "truth.h"
#include <chrono>
#include <sched.h>
#include <thread>
#include <vector>

static volatile int here;

class Shelf {
  omp_lock_t key;
  std::vector<int> jars;

public:
  Shelf() { omp_init_lock(&key); }
  __attribute__((noinline)) int take() {
    omp_set_lock(&key);
    truth_watched(2);
    truth_set(&here);
    while (jars.empty())
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    int jar = jars.back();
    jars.pop_back();
    omp_unset_lock(&key);
    return jar;
  }
  __attribute__((noinline)) void put(int jar) {
    truth_until(&here);
    truth_watched(2);
    omp_set_lock(&key);
    jars.push_back(jar);
    omp_unset_lock(&key);
  }
  void drop(int jar) { jars.push_back(jar); }
};

static int sacks;
static inline int amount() { return __atomic_load_n(&sacks, __ATOMIC_ACQUIRE); }

__attribute__((noinline)) static void fetch() {
#pragma omp critical(barn)
  {
    truth_watched(2);
    truth_set(&here);
    while (amount() == 0)
      sched_yield();
    __atomic_fetch_sub(&sacks, 1, __ATOMIC_ACQ_REL);
  }
}

__attribute__((noinline)) static void bring() {
  truth_until(&here);
  truth_watched(2);
#pragma omp critical(barn)
  __atomic_fetch_add(&sacks, 1, __ATOMIC_ACQ_REL);
}

static void *later(void *shelf) {
  for (;;)
    pause(); // works on, for ever
  ((Shelf *)shelf)->drop(1);
  __atomic_fetch_add(&sacks, 1, __ATOMIC_ACQ_REL);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t worker;
  int way = (int)truth_arg(argc, argv, 1, 0);
  truth_child(2);
  truth_init(argc, argv, __FILE__);
  Shelf shelf;
  if (truth_arg(argc, argv, 2, 0))
    pthread_create(&worker, NULL, later, &shelf);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    if (way == 0 && me == 0)
      shelf.put(7);
    else if (way == 0)
      shelf.take();
    else if (me == 0)
      bring();
    else
      fetch();
  }
  return 0;
}
