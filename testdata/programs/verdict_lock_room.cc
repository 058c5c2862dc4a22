// A thread ended with an element of an array of locks, for which another thread waits: "0" one past the end of a
// std::vector, in the room that the vector has reserved, "1" its last element, "2" the last one of an array without a
// bound, "3" the last one of a flexible array member. A second argument of 1: another thread holds it, and works.
#include "truth.h"
#include <vector>

enum { count = 64 };
struct table {
  int size;
  omp_lock_t locks[];
};

static std::vector<omp_lock_t> locks;
extern omp_lock_t unbound[];
static table *flexible;
static volatile int way, works, held, turns;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void acquire_listed(int at) {
  omp_set_lock(&locks[at]);
  turns++;
}

__attribute__((noinline)) static void acquire_unbound(int at) {
  omp_set_lock(&unbound[at]);
  turns++;
}

__attribute__((noinline)) static void acquire_flexible(int at) {
  omp_set_lock(&flexible->locks[at]);
  turns++;
}

static void acquire(int at) { way == 2 ? acquire_unbound(at) : way == 3 ? acquire_flexible(at) : acquire_listed(at); }

static void release(int at) {
  turns--;
  omp_unset_lock(way == 2 ? &unbound[at] : way == 3 ? &flexible->locks[at] : &locks[at]);
}

__attribute__((noinline)) static void holds(int at) {
  acquire(at);
  truth_set(&held);
  TRUTH_HOLD("work_parallel");
  release(at);
}

static void *leaves(void *at) {
  acquire((int)(long)at);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer, other;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  locks.reserve(2 * count);
  locks.resize(count);
  flexible = (table *)calloc(1, sizeof *flexible + count * sizeof(omp_lock_t));
  flexible->size = count;
  for (int i = 0; i < count; i++) {
    omp_init_lock(&unbound[i]);
    omp_init_lock(&locks[i]);
    omp_init_lock(&flexible->locks[i]);
  }
  int at = count - 1;
  if (way == 0)
    omp_init_lock(&locks.data()[++at]);
  pthread_create(&observer, NULL, look, (void *)(works ? 2L : 1L));
  if (!works) {
    pthread_create(&other, NULL, leaves, (void *)(long)at);
    pthread_join(other, NULL);
  }
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      if (works)
        truth_until(&held);
      TRUTH_WAIT("", 0, 0);
      acquire(at);
      release(at);
    } else if (works) {
      holds(at);
    }
  }
  return 0;
}

omp_lock_t unbound[count];
