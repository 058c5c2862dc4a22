/* cost.c: what constructs take on one thread, as minima of many short runs: lines of a name and nanoseconds. The last is
 * a storm of tasks that do nothing else, per task.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { RUNS = 200, FIBONACCI = 16, TASKS = 3192 };

static volatile int x;
static omp_lock_t lock;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int fibonacci(int n) {
  int a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

#define LEAST(name, times, per, construct)         \
  do {                                             \
    uint64_t least = UINT64_MAX;                   \
    for (int run = 0; run < RUNS; run++) {         \
      uint64_t begin = now();                      \
      for (int i = 0; i < (times); i++) construct; \
      uint64_t took = now() - begin;               \
      if (took < least) least = took;              \
    }                                              \
    printf("%s %.1f\n", name, (double)least / (per)); \
  } while (0)

int main(void) {
  omp_init_lock(&lock);
  LEAST("region", 200, 200, {
    _Pragma("omp parallel num_threads(1)") x;
  });
#pragma omp parallel num_threads(1)
  {
    LEAST("lock", 500, 500, {
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    });
    LEAST("critical", 500, 500, {
      _Pragma("omp critical") x;
    });
    LEAST("barrier", 500, 500, {
      _Pragma("omp barrier");
    });
    LEAST("task", 100, 100, {
      _Pragma("omp task") x;
    });
    LEAST("storm", 1, TASKS, { x = fibonacci(FIBONACCI); });
  }
}
