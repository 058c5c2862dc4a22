// Functions that run once, while other threads wait for their end.
// 0: the function of std::call_once calls it again for the same flag. 1: that of pthread_once.
// 2: it waits at a barrier of its team, and the others wait for it. 3: it waits for a lock of a waiting thread.
// A second argument of 1: it computes while the others wait (1, 3: in pthread_once), and has called other
// functions once: no verdict.
#include "truth.h"
#include <mutex>

static std::once_flag loaded, named;
static pthread_once_t opened = PTHREAD_ONCE_INIT, numbered = PTHREAD_ONCE_INIT;
static omp_lock_t shelf;
static int rows, healthy, names;
static volatile int begun, held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void load();
static void open_all();

__attribute__((noinline)) static int count() {
  if (!healthy)
    TRUTH_WAIT("wait_once", 0, 0);
  std::call_once(loaded, load);
  return rows;
}

__attribute__((noinline)) static int count_open() {
  if (!healthy)
    TRUTH_WAIT("wait_once", 0, 0);
  pthread_once(&opened, open_all);
  return rows;
}

/* total and total_open are where the first call is made. */
__attribute__((noinline)) static int total() {
  std::call_once(loaded, load);
  return rows;
}

__attribute__((noinline)) static int total_open() {
  pthread_once(&opened, open_all);
  return rows;
}

static void name() { names++; }

__attribute__((noinline)) static void compute() {
  std::call_once(named, name);
  pthread_once(&numbered, name);
  truth_set(&begun);
  TRUTH_HOLD("work_parallel");
}

static void load() {
  rows = healthy ? 1 : count() + 1;
  if (healthy)
    compute();
}

static void open_all() {
  rows = healthy ? 1 : count_open() + 1;
  if (healthy)
    compute();
}

__attribute__((noinline)) static void meet() {
  truth_set(&begun);
  TRUTH_WAIT("wait_barrier", 0, __LINE__ + 1);
#pragma omp barrier
}

/* put needs the lock that the thread has which waits for it. */
__attribute__((noinline)) static void put() {
  truth_set(&begun);
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &shelf, __LINE__ + 1);
  omp_set_lock(&shelf);
  rows++;
  omp_unset_lock(&shelf);
}

__attribute__((noinline)) static void met(int wait) {
  if (wait) {
    truth_until(&begun);
    TRUTH_WAIT("wait_once", 0, 0);
  }
  std::call_once(loaded, healthy ? compute : meet);
}

__attribute__((noinline)) static void take() {
  omp_set_lock(&shelf);
  truth_until(&begun);
  truth_set(&held);
  TRUTH_WAIT("wait_once", 0, 0);
  pthread_once(&opened, healthy ? compute : put);
  omp_unset_lock(&shelf);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long mode = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&shelf);
  pthread_create(&observer, NULL, look, (void *)(mode == 2 ? 3L : 2L));
  int sum = 0;
#pragma omp parallel num_threads(mode == 2 ? 3 : 2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    switch (mode) {
    case 0:
    case 1:
      if (me == 0 && !healthy) {
        TRUTH_WAIT("wait_barrier", 0, 0);
      } else {
        if (me == 0) {
          truth_until(&begun);
          TRUTH_WAIT("wait_once", 0, 0);
        }
        sum += mode == 0 ? total() : total_open();
      }
      break;
    case 2:
      met(me > 0);
      break;
    default:
      if (me == 0)
        take();
      else
        pthread_once(&opened, healthy ? compute : put);
    }
  }
  return sum;
}
