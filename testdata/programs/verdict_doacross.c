/* Loops with cross-iteration dependences, where a thread waits for an iteration that is never posted.
 * "0": a wavefront over rows and columns, as in a point-to-point benchmark; one row leaves its
 * columns by a path without depend(source). "1": a loop that one path of leaves without it.
 * "2": an iteration waits for the one after it, which its own thread has. "3": as 1, with numbers
 * above those that are signed. "4": as 1, in a function whose variables need an aligned stack, with more values than
 * registers. "5": as 2, with one iteration for each thread at a time.
 * A second argument of 1: healthy, but the row or iteration that is waited for takes long. */
#include "truth.h"

enum { rows = 4, columns = 6, turns = 8 };
static double grid[rows + 1][columns + 1];
static double field[20 * 8];
static int way, healthy;
static volatile int never;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void slow(void) {
  TRUTH_HOLD("work_parallel");
}

__attribute__((noinline)) static void waits(int here) {
  if (here)
    TRUTH_WAIT("wait_ordered", 0, 0);
}

static void wavefront(void) {
#pragma omp for ordered(2) schedule(static) nowait
  for (int j = 0; j < rows; j++)
    for (int i = 0; i < columns; i++) {
      waits((j == 3 && i == 2) || (j == 2 && i == 3));
#pragma omp ordered depend(sink : j - 1, i) depend(sink : j, i - 1)
      grid[j + 1][i + 1] = grid[j][i + 1] + grid[j + 1][i] - grid[j][i];
      if (j == 2 && i >= 2) {
        if (healthy)
          slow();
        continue; /* the path without depend(source) */
      }
#pragma omp ordered depend(source)
    }
}

static void line(void) {
#pragma omp for ordered(1) schedule(static, 1) nowait
  for (int i = 0; i < 4; i++) {
    waits(i == 3);
#pragma omp ordered depend(sink : i - 1)
    grid[0][i]++;
    if (i == 2) {
      if (healthy)
        slow();
      continue; /* the path without depend(source) */
    }
#pragma omp ordered depend(source)
  }
}

__attribute__((noinline)) static void numbers(unsigned long long from) {
#pragma omp for ordered(1) schedule(dynamic) nowait
  for (unsigned long long i = from; i < from + 4; i++) {
    waits(i == from + 3);
#pragma omp ordered depend(sink : i - 1)
    grid[0][i % 4]++;
    if (i == from + 2) {
      if (healthy)
        slow();
      continue; /* the path without depend(source) */
    }
#pragma omp ordered depend(source)
  }
}

__attribute__((noinline)) static void spilled(double *rows, int stride, int count) {
#pragma omp for ordered(1) schedule(static, 1) nowait
  for (int i = 0; i < count; i++) {
    double block[16] __attribute__((aligned(64))), sums[16] __attribute__((aligned(64)));
    for (int k = 0; k < 16; k++)
      block[k] = rows[i * stride + k] * k;
    for (int k = 0; k < 16; k++)
      sums[k] = block[15 - k] + rows[(i + 1) * stride + k];
    waits(i == 3);
#pragma omp ordered depend(sink : i - 1)
    for (int k = 0; k < 16; k++)
      rows[i * stride + k] = sums[k] + block[k];
    if (i == 2) {
      if (healthy)
        slow();
      continue; /* the path without depend(source) */
    }
#pragma omp ordered depend(source)
    for (int k = 0; k < 16; k++)
      rows[(i + 1) * stride + k] += sums[15 - k];
  }
}

static void one_by_one(void) {
#pragma omp for ordered(1) schedule(static, 1) nowait
  for (int i = 0; i < turns; i++) {
    if (healthy && i == 3)
      slow();
    waits(i < 4);
#pragma omp ordered depend(sink : i + 1)
    grid[0][0]++;
#pragma omp ordered depend(source)
  }
}

static void later(void) {
  int me = omp_get_thread_num();
#pragma omp for ordered(1) schedule(static) nowait
  for (int i = 0; i < turns; i++) {
    if (healthy && i == turns - 2)
      slow();
    waits(i == 2 * me);
#pragma omp ordered depend(sink : i + 1)
    grid[0][0]++;
#pragma omp ordered depend(source)
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)4);
#pragma omp parallel num_threads(4)
  {
    if (way == 0)
      wavefront();
    else if (way == 1)
      line();
    else if (way == 3)
      numbers(1ULL << 63);
    else if (way == 4)
      spilled(field, 20, 4);
    else if (way == 5)
      one_by_one();
    else
      later();
    TRUTH_WAIT("wait_barrier_explicit", 0, 0);
#pragma omp barrier
    truth_set(&never);
  }
  return 0;
}
