// A pool of locks; some locks guard several rows: thread 0 holds a lock of the pool and waits for another row of the
// same lock. The others hold a lock each and wait for that of thread 0. Thread 0's lock depends on numbers in memory
// that the frames do not keep. "0": as said. "1": the locks are acquired one after the other, and a thread left one
// unreleased before.
// Second argument: idle threads of a pool, which might execute any function: "0" no such threads, "1" std::thread,
// "2" threads of the library in OMPD_CREW.
// Third argument of 1: thread 0 waits for no lock and works, the others wait in the same way.
#include "truth.h"
#include <condition_variable>
#include <dlfcn.h>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

struct Locks {
  omp_lock_t *locks;
  int size;
};

static int way, healthy;
static volatile int here, left;
static volatile long total;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static inline void set_lock(Locks *p, long row) { omp_set_lock(&p->locks[row % p->size * 2]); }
static inline void unset_lock(Locks *p, long row) { omp_unset_lock(&p->locks[row % p->size * 2]); }

struct Crew {
  std::mutex mutex;
  std::condition_variable filled;
  std::queue<std::function<void()>> jobs;
  void serve() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> l(mutex);
        filled.wait(l, [this] { return !jobs.empty(); });
        job = std::move(jobs.front());
        jobs.pop();
      }
      job();
    }
  }
  void add(std::function<void()> job) {
    {
      std::lock_guard<std::mutex> l(mutex);
      jobs.push(std::move(job));
    }
    filled.notify_one();
  }
};

/* meet returns when all four threads have acquired their first lock. */
__attribute__((noinline)) static void meet(int n) {
  __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < n)
    usleep(100);
}

__attribute__((noinline)) static void works(int me) {
  while (healthy && me == 0)
    pause();
}

__attribute__((noinline)) static void rows(Locks *p, const long *outer, const long *inner, double *out, int n, int m,
                                           int me) {
  for (int i = 0; i < n; i++) {
    set_lock(p, outer[i]);
    if (i == 1) {
      meet(4);
      works(me);
      TRUTH_WAIT("wait_lock", 0, 0);
    }
    for (int j = 0; j < m; j++) {
      set_lock(p, inner[i * m + j]); // the second lock
      out[inner[i * m + j]] += 1.0 * j;
      unset_lock(p, inner[i * m + j]);
    }
    out[outer[i]] += 1;
    unset_lock(p, outer[i]);
  }
}

__attribute__((noinline)) static void leave(Locks *p, long row) {
  set_lock(p, row);
  if (left)
    return; // the way without a release
  unset_lock(p, row);
}

__attribute__((noinline)) static void in_turn(Locks *p, const long *outer, const long *inner, double *out, int n, int me) {
  for (int i = 0; i < n; i++) {
    set_lock(p, outer[i]);
    out[outer[i]] += 1;
    unset_lock(p, outer[i]);
    if (i == 1) {
      meet(4);
      works(me);
      TRUTH_WAIT("wait_lock", 0, 0);
    }
    set_lock(p, inner[i]);
    out[inner[i]] += 1;
    unset_lock(p, inner[i]);
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  int crew = (int)truth_arg(argc, argv, 2, 0);
  healthy = (int)truth_arg(argc, argv, 3, 0);
  if (crew == 1) {
    Crew *c = new Crew;
    for (int i = 0; i < 2; i++)
      new std::thread([c] { c->serve(); });
    c->add([] { total++; });
  } else if (crew == 2 && !dlopen(getenv("OMPD_CREW"), RTLD_NOW)) {
    fprintf(stderr, "%s\n", dlerror());
    return 5;
  }
  Locks p = {new omp_lock_t[128], 64};
  for (int i = 0; i < 128; i++)
    omp_init_lock(&p.locks[i]);
  double *out = (double *)calloc(4096, sizeof(double));
  if (way == 1) {
    left = 1;
    leave(&p, healthy ? 40 : 1);
    if (healthy)
      omp_unset_lock(&p.locks[80]);
    left = 0;
  }
  pthread_create(&observer, NULL, look, (void *)(healthy ? 3L : 4L));
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    long outer[3] = {me + 10, me + 1, me + 20};
    long inner[6] = {100, 101, 1 + 64, 1 + 128, 7, 8};
    long second[3] = {100 + me, 1 + 64, 7};
    if (way == 1 && healthy && me == 0)
      set_lock(&p, 1);
    if (way == 0)
      rows(&p, outer, inner, out, 3, 2, me);
    else {
      outer[1] = 30 + me;
      in_turn(&p, outer, second, out, 3, me);
    }
  }
  printf("%g\n", out[3]);
  return 0;
}
