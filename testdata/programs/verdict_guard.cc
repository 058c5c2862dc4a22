// A deadlock of locks that objects acquire in constructors
// and release in destructors, where exceptions may be thrown.
#include "truth.h"
#include <stdexcept>
#include <vector>

struct Lock {
  omp_lock_t word;
  Lock() { omp_init_lock(&word); }
  ~Lock() { omp_destroy_lock(&word); }
};

struct Guard {
  Lock &lock;
  explicit Guard(Lock &l) : lock(l) { omp_set_lock(&lock.word); }
  ~Guard() { omp_unset_lock(&lock.word); }
};

static int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void both_held(int limit) {
  if (limit < 0)
    throw std::runtime_error("limit");
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

__attribute__((noinline)) static void wait_for(Lock &other) {
  TRUTH_WAIT("wait_lock", &other.word, __LINE__ + 1);
  Guard guard(other);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void move(Lock &mine, Lock &other, int limit) {
  Guard guard(mine);
  both_held(limit);
  wait_for(other);
}

int main(int argc, char **argv) {
  pthread_t observer;
  std::vector<Lock> locks(4);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    move(locks[me], locks[1 - me], argc);
  }
  return 0;
}
