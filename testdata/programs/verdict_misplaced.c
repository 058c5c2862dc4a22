/* A barrier, in a separate function, called from within a construct that may not contain a barrier:
 * critical (0), ordered (1), single (2), master (3), a static loop (4), a dynamic one (5), sections
 * (6), a dynamic loop without a barrier at its end (7), such a single (8). The second argument 1
 * makes it healthy: the barrier is after the construct, and one thread is at work. */
#include "truth.h"

static volatile int sum, healthy;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void meet(void) {
#pragma omp barrier
  sum++;
}

__attribute__((noinline)) static void add(void) {
  if (!healthy)
    meet();
  sum++;
}

__attribute__((noinline)) static void rest(void) {
  if (healthy && omp_get_thread_num() == 2)
    truth_hold("work_parallel", 1);
  if (healthy)
    meet();
  sum++;
}

__attribute__((noinline)) static void in_critical(void) {
#pragma omp critical(room)
  add();
  rest();
}

__attribute__((noinline)) static void in_ordered(void) {
#pragma omp for ordered schedule(dynamic)
  for (int i = 0; i < 3; i++) {
#pragma omp ordered
    add();
    sum++;
  }
  rest();
}

__attribute__((noinline)) static void in_single(void) {
#pragma omp single
  add();
  rest();
}

__attribute__((noinline)) static void in_master(void) {
#pragma omp master
  add();
  rest();
}

__attribute__((noinline)) static void in_static(void) {
#pragma omp for schedule(static)
  for (int i = 0; i < 4; i++)
    add();
  rest();
}

__attribute__((noinline)) static void in_dynamic(void) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 4; i++)
    add();
  rest();
}

__attribute__((noinline)) static void in_sections(void) {
#pragma omp sections
  {
#pragma omp section
    add();
#pragma omp section
    sum++;
  }
  rest();
}

__attribute__((noinline)) static void in_nowait(void) {
#pragma omp for schedule(dynamic) nowait
  for (int i = 0; i < 4; i++)
    add();
  rest();
}

__attribute__((noinline)) static void in_single_nowait(void) {
#pragma omp single nowait
  add();
  rest();
}

/* Where the others wait in the construct, they may spin. */
#define REGION(way) \
  _Pragma("omp parallel num_threads(3)") { \
    truth_enter(spins ? TRUTH_SPINNING : TRUTH_ASLEEP, "wait_barrier", 0, "", "", 0); \
    way(); \
    sum++; \
  }

int main(int argc, char **argv) {
  pthread_t observer;
  long which = truth_arg(argc, argv, 1, 0);
  int spins = which < 2;
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)3);
  switch (which) {
  case 0: REGION(in_critical) break;
  case 1: REGION(in_ordered) break;
  case 2: REGION(in_single) break;
  case 3: REGION(in_master) break;
  case 4: REGION(in_static) break;
  case 5: REGION(in_dynamic) break;
  case 6: REGION(in_sections) break;
  case 7: REGION(in_nowait) break;
  case 8: REGION(in_single_nowait) break;
  }
  return 0;
}
