/* A worker has an array on its stack that is larger than the stack, and zeros it: it starts in the stack
 * of another thread, and is written through that thread's control block up to the guard page after it. */
#include "truth.h"

TRUTH_ENV("OMP_STACKSIZE", "1M")

enum { SIZE = 2300000, THREADS = 4 }; /* 2.2 MiB: through the stack of one thread into that of the next */

static int arrived;
static char *volatile places[THREADS];

__attribute__((noinline)) static char clear(int at) {
  volatile char all[SIZE];
  for (int i = 0; i < (int)sizeof all; i++)
    all[i] = 0;
  return all[at];
}

/* writer returns the worker with an array that starts in another worker's stack, or 0. */
static int writer(void) {
  for (int w = 1; w < THREADS; w++)
    for (int v = 1; v < THREADS; v++) {
      long above = places[v] - (places[w] - SIZE);
      if (v != w && above > 65536 && above < 900000)
        return w;
    }
  return 0;
}

int main(int argc, char **argv) {
  char c = 0;
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(THREADS)
  {
    char here;
    int me = omp_get_thread_num();
    TRUTH_REGION(__LINE__ - 4);
    places[me] = &here;
    __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < THREADS)
      ;
    int who = writer();
    if (who == 0 && me == 0)
      execv("/proc/self/exe", argv); /* the stacks are then at other addresses */
    if (who != 0 && me == who) {
      while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < 2 * THREADS - 1)
        ;
      truth_write(1);
      c = clear(argc);
    } else {
      __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
      for (;;) /* without its stack */
        __asm__ volatile("");
    }
  }
  return c;
}
