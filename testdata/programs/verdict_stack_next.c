/* A worker has an array on its stack that is larger than the stack, and zeros it: it begins in the stack
   of another thread, and is written through that thread's control block until the guard page behind it. */
#include "truth.h"

TRUTH_ENV("OMP_STACKSIZE", "1M")

static int arrived;

__attribute__((noinline)) static char clear(int at) {
  volatile char all[2300000]; /* 2.2 MiB: through the stack of one thread into that of the next */
  for (int i = 0; i < (int)sizeof all; i++)
    all[i] = 0;
  return all[at];
}

int main(int argc, char **argv) {
  char c = 0;
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < 3)
        ;
      truth_write(1);
      c = clear(argc);
    } else {
      __atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE);
      for (;;) /* without its stack */
        __asm__ volatile("");
    }
  }
  return c;
}
