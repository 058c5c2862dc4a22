/* Loops with dependences whose variables have several types and steps. Iteration 2 of 4, counted from 0, leaves by a path
 * without depend(source), and iteration 3 waits for it. The first argument selects the loop. A second argument of 1:
 * iteration 2 takes long.
 * The loops are correct, but GCC (12 to 16) passes the runtime wrong iterations in three of them: iterations that the
 * loop does not have ("2", "7") or the next one in place of the previous one ("3", "4"). There, all iterations but the
 * first wait. */
#include "truth.h"

#if defined __clang__
enum { wrong = 0 };
#else
enum { wrong = 1 };
#endif
static int healthy;
static long sums[4];
static volatile int never;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

/* before announces the wait of iteration n. */
__attribute__((noinline)) static void before(long n, int miscompiled) {
  if (n == 3 || (miscompiled && wrong && n > 0))
    TRUTH_WAIT("wait_ordered", 0, 0);
}

/* leaves reports whether iteration n leaves without depend(source). */
__attribute__((noinline)) static int leaves(long n) {
  sums[n]++;
  if (n == 2 && healthy)
    TRUTH_HOLD("work_parallel");
  return n == 2;
}

#define TEXT(x) #x
#define LOOP(name, type, schedules, more, next, previous, number, miscompiled)                                         \
  __attribute__((noinline)) static void name(type from, type to) {                                                     \
    _Pragma(TEXT(omp for ordered(1) schedules nowait)) for (type i = from; more; next) {                               \
      before((long)(number), miscompiled);                                                                             \
      _Pragma(TEXT(omp ordered depend(sink : previous))) if (leaves((long)(number))) continue;                         \
      _Pragma("omp ordered depend(source)")                                                                            \
    }                                                                                                                  \
  }

LOOP(sizes, size_t, schedule(static), i < to, i++, i - 1, i - from, 0)
LOOP(quads, unsigned long long, schedule(guided), i < to, i += 4, i - 4, (i - from) / 4, 0)
LOOP(numbers, unsigned, schedule(static, 1), i < to, i++, i - 1, i - from, 1)
LOOP(backwards, unsigned long long, schedule(dynamic), i > to, i--, i + 1, from - i, 1)
LOOP(bytes, unsigned char, schedule(static, 1), i > to, i -= 3, i + 3, (from - i) / 3, 1)
LOOP(signs, int, schedule(static, 1), i >= to, i -= 2, i + 2, (from - i) / 2, 0)
LOOP(shorts, unsigned short, schedule(static, 1), i < to, i += 2, i - 2, (i - from) / 2, 1)

/* A nest of two loops, of which the inner one counts down. */
__attribute__((noinline)) static void nest(size_t from, int to) {
#pragma omp for ordered(2) schedule(static, 1) nowait
  for (size_t i = from; i < from + 4; i++)
    for (int j = to; j > to - 6; j -= 2) {
      before(j == to - 4 ? (long)(i - from) : 0, 0);
#pragma omp ordered depend(sink : i - 1, j)
      if (j == to - 4 && leaves((long)(i - from)))
        continue;
#pragma omp ordered depend(source)
    }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  int way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)4);
#pragma omp parallel num_threads(4)
  {
    switch (way) {
    case 0:
      sizes((size_t)1 << 63, ((size_t)1 << 63) + 4);
      break;
    case 1:
      quads(~0ULL - 80, ~0ULL - 64);
      break;
    case 2:
      numbers(4000000000u, 4000000004u);
      break;
    case 3:
      backwards((1ULL << 63) + 10, (1ULL << 63) + 6);
      break;
    case 4:
      bytes(250, 238);
      break;
    case 5:
      signs(5, -1);
      break;
    case 6:
      nest((size_t)1 << 63, 3);
      break;
    case 7:
      shorts(60000, 60008);
    }
    TRUTH_WAIT("wait_barrier_explicit", 0, 0);
#pragma omp barrier
    truth_set(&never);
  }
  return 0;
}
