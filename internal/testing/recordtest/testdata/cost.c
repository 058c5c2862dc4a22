/* cost.c: the cost of constructs on one thread, as minima of many short runs: lines of a name and nanoseconds. The last
 * is a storm of empty tasks, per task.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { RUNS = 200, FIBONACCI = 16, TASKS = 3192, ITERATIONS = 200, HELD = 8 };

static volatile int x;
static omp_lock_t lock, held[HELD];
static omp_nest_lock_t nested;
static uint64_t begun, ended; /* of iterations, by the thread that has them */

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

static long cell[ITERATIONS + 1];

/* iterations is a loop with iterations that depend on the previous one; all run on one thread, without a wait. */
static void iterations(void) {
#pragma omp for ordered(1) schedule(static, ITERATIONS)
  for (int i = 1; i <= ITERATIONS; i++) {
    if (i == 1) begun = now();
#pragma omp ordered depend(sink : i - 1)
    cell[i] = cell[i - 1] + 1;
#pragma omp ordered depend(source)
    if (i == ITERATIONS) ended = now();
  }
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
  omp_init_nest_lock(&nested);
  for (int i = 0; i < HELD; i++) omp_init_lock(&held[i]);
  LEAST("region", 200, 200, {
    _Pragma("omp parallel num_threads(1)") x;
  });
#pragma omp parallel num_threads(1)
  {
    LEAST("lock", 500, 500, {
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    });
    for (int i = 0; i < HELD; i++) omp_set_lock(&held[i]);
    LEAST("lock-within-8", 500, 500, {
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    });
    for (int i = 0; i < HELD; i++) omp_unset_lock(&held[i]);
    LEAST("nest-lock-once-more", 500, 500, {
      omp_set_nest_lock(&nested);
      omp_set_nest_lock(&nested);
      omp_unset_nest_lock(&nested);
      omp_unset_nest_lock(&nested);
    });
    LEAST("critical", 500, 500, {
      _Pragma("omp critical") x;
    });
    LEAST("named-critical", 500, 500, {
      _Pragma("omp critical(name)") x;
    });
    LEAST("barrier", 500, 500, {
      _Pragma("omp barrier");
    });
    LEAST("task", 100, 100, {
      _Pragma("omp task") x;
    });
    LEAST("dependences", 100, 100, {
      _Pragma("omp task depend(inout : x)") x;
    });
    LEAST("storm", 1, TASKS, { x = fibonacci(FIBONACCI); });
  }
  uint64_t least = UINT64_MAX;
#pragma omp parallel num_threads(2)
  for (int run = 0; run < RUNS; run++) {
    iterations();
#pragma omp barrier
#pragma omp single
    if (ended - begun < least) least = ended - begun;
  }
  printf("iteration %.1f\n", (double)least / ITERATIONS);
}
