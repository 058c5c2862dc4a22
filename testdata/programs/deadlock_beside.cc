/* Two threads wait for each other's locks. A third thread at work acquires and releases the locks, too: "0"
 * by a std::lock_guard, "1" by a std::unique_lock that waits on a condition variable, "2" a lock in a loop,
 * "3" through functions, "4" under an if, "5" if it is free, "6" an element of an array by its index, "7"
 * by its own class, "8" a mutex that is locked and unlocked in a loop with continue and break, "9" by a
 * std::scoped_lock in a lambda, "10" an element that a function finds, "11" in a recursion. A second
 * argument of 1: the third thread has not acquired it yet; otherwise it is between two acquisitions. */
#include "truth.h"
#include <condition_variable>
#include <mutex>
#include <vector>

static std::mutex first, second;
static std::condition_variable filled;
static omp_lock_t locks[4];
static std::vector<omp_lock_t *> found;
static volatile int have, choice, stays, full, resting;
static long sum;

static void *look(void *unused) {
  (void)unused;
  truth_await(3);
  truth_end();
  return NULL;
}

/* rest is where the third thread is looked at. */
__attribute__((noinline)) static void rest(void) {
  truth_set(&resting);
  TRUTH_HOLD("work_parallel");
}

__attribute__((noinline)) static void met(void) {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

__attribute__((noinline)) static void by_guard(void) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    std::lock_guard<std::mutex> guard(first);
    sum++;
  }
}

__attribute__((noinline)) static void by_condition(void) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    std::unique_lock<std::mutex> lock(first);
    while (!full)
      filled.wait(lock);
    sum++;
  }
}

__attribute__((noinline)) static void in_loop(void) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    omp_set_lock(&locks[0]);
    sum++;
    omp_unset_lock(&locks[0]);
  }
}

__attribute__((noinline)) static void acquire(omp_lock_t *l) { omp_set_lock(l); }
__attribute__((noinline)) static void release(omp_lock_t *l) { omp_unset_lock(l); }

__attribute__((noinline)) static void by_functions(omp_lock_t *l) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    acquire(l);
    sum++;
    release(l);
  }
}

__attribute__((noinline)) static void under_if(int locked) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    if (locked)
      omp_set_lock(&locks[0]);
    sum++;
    if (locked)
      omp_unset_lock(&locks[0]);
  }
}

__attribute__((noinline)) static void if_free(void) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    if (omp_test_lock(&locks[0])) {
      sum++;
      omp_unset_lock(&locks[0]);
    } else {
      sum--;
    }
    int mine = omp_test_lock(&locks[1]);
    sum += mine;
    if (mine)
      omp_unset_lock(&locks[1]);
  }
}

__attribute__((noinline)) static void by_index(int n) {
  for (int i = 0; i < n; i++) {
    if (i == stays)
      rest();
    omp_set_lock(&locks[i % 4]);
    sum++;
    omp_unset_lock(&locks[i % 4]);
  }
}

class Section {
  omp_lock_t *lock;

public:
  explicit Section(omp_lock_t *l) : lock(l) { omp_set_lock(lock); }
  ~Section() { omp_unset_lock(lock); }
};

__attribute__((noinline)) static void by_class(omp_lock_t *l) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    Section section(l);
    sum++;
  }
}

__attribute__((noinline)) static void with_continue(int n) {
  for (int i = 0; i < n; i++) {
    if (i == stays)
      rest();
    first.lock();
    if (sum > 100) {
      first.unlock();
      continue;
    }
    if (sum < -100) {
      first.unlock();
      break;
    }
    sum++;
    first.unlock();
  }
}

__attribute__((noinline)) static void in_lambda(void) {
  auto add = [](int n) {
    std::scoped_lock lock(first);
    sum += n;
  };
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    add(i);
  }
}

__attribute__((noinline)) static omp_lock_t *find(size_t n) { return found[n % found.size()]; }

__attribute__((noinline)) static void by_search(void) {
  for (int i = 0; i < 3; i++) {
    if (i == stays)
      rest();
    omp_lock_t *l = find((size_t)i);
    omp_set_lock(l);
    sum++;
    omp_unset_lock(l);
  }
}

__attribute__((noinline)) static void recursive(int n) {
  if (n == stays)
    rest();
  if (n < 3)
    recursive(n + 1);
  omp_set_lock(&locks[0]);
  sum++;
  omp_unset_lock(&locks[0]);
}

__attribute__((noinline)) static void third(void) {
  switch (choice) {
  case 0: by_guard(); break;
  case 1: by_condition(); break;
  case 2: in_loop(); break;
  case 3: by_functions(&locks[0]); break;
  case 4: under_if(have); break;
  case 5: if_free(); break;
  case 6: by_index(8); break;
  case 7: by_class(&locks[0]); break;
  case 8: with_continue(8); break;
  case 9: in_lambda(); break;
  case 10: by_search(); break;
  case 11: recursive(0); break;
  }
}

__attribute__((noinline)) static void mutexes(std::mutex &one, std::mutex &other) {
  one.lock();
  met();
  TRUTH_WAIT("wait_mutex", 0, 0);
  other.lock();
  sum++;
  other.unlock();
  one.unlock();
}

__attribute__((noinline)) static void plain(omp_lock_t *one, omp_lock_t *other) {
  omp_set_lock(one);
  met();
  TRUTH_WAIT("wait_lock", 0, 0);
  omp_set_lock(other);
  sum++;
  omp_unset_lock(other);
  omp_unset_lock(one);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  choice = (int)truth_arg(argc, argv, 1, 0);
  stays = truth_arg(argc, argv, 2, 0) ? 0 : 2;
  for (omp_lock_t &l : locks) {
    omp_init_lock(&l);
    found.push_back(&l);
  }
  full = 1;
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    TRUTH_REGION(__LINE__ - 3);
    if (me < 2)
      truth_until(&resting);
    if (me == 2)
      third();
    else if (choice < 2 || choice == 8 || choice == 9)
      mutexes(me ? second : first, me ? first : second);
    else
      plain(&locks[me], &locks[1 - me]);
  }
  return 0;
}
