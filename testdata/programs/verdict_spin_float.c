/* All threads of a team wait for a floating-point number to change, in vain: "0" an element of an array, "1" a float
 * below a limit, "2" an atomic load with sched_yield, "3" an atomic read above a limit, "4" a limit that was computed
 * before, "5" a number that is none, "6" its absolute value, with usleep, "7" its integer part. A second argument of 1:
 * one more thread works, and changes it later.
 *
 * "8" to "11" are loops of the same form that end some time: "8" a computation until it converges, "9" a count, "10" a
 * number that the loop itself changes, "11" a time limit.
 * "12" and "13" wait as well, for a number that is too far from a limit, and for the product of one that is none.
 * The threads are those of a child without working threads; its parent waits. */
#include "truth.h"
#include <math.h>
#include <sched.h>
#include <stdatomic.h>

static double levels[4];
static volatile float ratio;
static _Atomic double phase;
static double residual = 1;
static volatile double level, start = NAN, offset, ticks, own = 9e15;
static volatile int scale = 3, working = 1;

__attribute__((noinline)) static void element(int i) {
  volatile double *p = levels;
  while (p[i] != 7)
    ;
}

__attribute__((noinline)) static void below(void) {
  while (ratio < 0.5f)
    ;
}

__attribute__((noinline)) static void load(void) {
  while (atomic_load_explicit(&phase, memory_order_acquire) == 0)
    sched_yield();
}

__attribute__((noinline)) static void above(void) {
  double now;
  do {
#pragma omp atomic read
    now = residual;
  } while (now > 1e-6);
}

__attribute__((noinline)) static void given(double limit) {
  while (level < limit)
    ;
}

__attribute__((noinline)) static void number(void) {
  while (isnan(start))
    ;
}

__attribute__((noinline)) static void absolute(void) {
  while (fabs(offset) < 0.25)
    usleep(200);
}

__attribute__((noinline)) static void whole(void) {
  while ((int)ticks < 3)
    ;
}

__attribute__((noinline)) static void converge(double x) {
  double before;
  do {
    before = x;
    x = 3.9 * x * (1 - x);
  } while (fabs(x - before) > 1e-300);
  levels[1] = x;
}

__attribute__((noinline)) static void count(double most) {
  double n = 0;
  while (n < most)
    n += 1;
  levels[1] = n;
}

__attribute__((noinline)) static void reduce(void) {
  while (own > 1)
    own = own - 1;
}

__attribute__((noinline)) static void limited(double end) {
  while (level < 1 && omp_get_wtime() < end)
    ;
}

__attribute__((noinline)) static void distance(double limit) {
  while (fabs(level + 0.1 - limit / 3) > 1.3)
    ;
}

__attribute__((noinline)) static void product(double factor) {
  while (!(start * factor - 0.7 > 1))
    ;
}

static void *later(void *unused) {
  while (working)
    pause();
  phase = 7, level = ticks = offset = start = ratio = residual = levels[2] = 7;
  return unused;
}

int main(int argc, char **argv) {
  pthread_t worker;
  long way = truth_arg(argc, argv, 1, 0);
  truth_child(3);
  truth_init(argc, argv, __FILE__);
  if (truth_arg(argc, argv, 2, 0) == 1)
    pthread_create(&worker, NULL, later, NULL);
#pragma omp parallel num_threads(3)
  {
    truth_watched(3);
    switch (way) {
    case 0: element(2); break;
    case 1: below(); break;
    case 2: load(); break;
    case 3: above(); break;
    case 4: given(scale * 2.5); break;
    case 5: number(); break;
    case 6: absolute(); break;
    case 7: whole(); break;
    case 8: converge(0.1 * scale); break;
    case 9: count(1e15 * scale); break;
    case 10: reduce(); break;
    case 12: distance(scale * 7.5); break;
    case 13: product(scale * 1.1); break;
    default: limited(omp_get_wtime() + TRUTH_LIMIT_S);
    }
  }
  return 0;
}
