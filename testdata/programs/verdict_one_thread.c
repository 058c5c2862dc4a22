/* A region of one thread, or of fewer than requested. The situation is argv[2]:
 * 1 nested regions by default                2 num_threads(1)      3 a false if clause
 * 4 omp_set_num_threads(1)                   5 one processor       6 nested if clauses
 * 8 dynamic adjustment of 64 threads         9 as many threads as the bound initial thread has processors */
#include "truth.h"
#include <sched.h>

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

/* again executes the program from its start, as it was called. */
static void again(void) {
  static char text[1 << 16];
  static char *words[256];
  int n = 0;
  FILE *f = fopen("/proc/self/cmdline", "r");
  size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
  for (size_t i = 0; i < size && n < 255; i += strlen(text + i) + 1)
    words[n++] = text + i;
  execv("/proc/self/exe", words);
  _exit(3);
}

/* The runtime may have asked for the processors before this line, so the program executes itself again. */
__attribute__((constructor)) static void one_processor(int argc, char **argv) {
  cpu_set_t one;
  if (truth_arg(argc, argv, 1, 0) != 5 || getenv("OMPD_BOUND"))
    return;
  sched_getaffinity(0, sizeof one, &one);
  for (int i = 0, seen = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &one) && seen++)
      CPU_CLR(i, &one);
  sched_setaffinity(0, sizeof one, &one);
  setenv("OMPD_BOUND", "yes", 1);
  again();
}

static void stay(void) { TRUTH_HOLD("work_parallel"); }

static volatile int left;

__attribute__((noinline)) static void nested(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(3)
    stay();
    left++; /* so that the inner region is not the last act of the outer one */
  }
}

__attribute__((noinline)) static void clause(int one) {
#pragma omp parallel num_threads(one)
  stay();
}

__attribute__((noinline)) static void unless(int large) {
#pragma omp parallel if (large)
  stay();
}

__attribute__((noinline)) static void plain(void) {
#pragma omp parallel
  stay();
}

__attribute__((noinline)) static void twice(int large) {
#pragma omp parallel if (large)
  unless(large);
}

__attribute__((noinline)) static void adjusted(void) {
  omp_set_dynamic(1);
#pragma omp parallel num_threads(64)
  {
    pthread_t observer;
    if (omp_get_thread_num() == 0)
      pthread_create(&observer, NULL, look, (void *)(long)omp_get_num_threads());
    stay();
  }
}

/* counted forks as many threads as the calling thread may use processors, after the runtime has bound it. */
__attribute__((noinline)) static void counted(void) {
  cpu_set_t own;
#pragma omp parallel
  __asm__ volatile("");
  sched_getaffinity(0, sizeof own, &own);
  clause(CPU_COUNT(&own));
}

int main(int argc, char **argv) {
  pthread_t observer;
  int what = (int)truth_arg(argc, argv, 1, 1);
  long threads = truth_arg(argc, argv, 2, 1);
  truth_init(argc, argv, __FILE__);
  if (what == 8)
    adjusted();
  pthread_create(&observer, NULL, look, (void *)threads);
  if (what == 4)
    omp_set_num_threads(1);
  if (what == 1)
    nested();
  else if (what == 2)
    clause(argc > 99 ? 4 : 1);
  else if (what == 3)
    unless(argc > 99);
  else if (what == 6)
    twice(argc > 99);
  else if (what == 9)
    counted();
  else
    plain();
  return 0;
}
