/* Thread 0 leaves a parallel region by longjmp and starts another one: for the runtime it is nested in the first, and
 * has one thread. Argument of 1: it does not leave the first region. */
#include "truth.h"
#include <setjmp.h>

static jmp_buf on_error;
static int healthy;
static volatile int decoded;

__attribute__((noinline)) static void decode(void) {
  if (omp_get_thread_num() == 0 && !healthy)
    longjmp(on_error, 1);
  __atomic_add_fetch(&decoded, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void filter(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      truth_trigger("work_parallel", 1);
    else
      truth_hold("work_parallel", 1);
    decoded = 0;
  }
  decoded = 1;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 1, 0);
  if (setjmp(on_error) == 0) {
#pragma omp parallel num_threads(2)
    {
      decode();
      decode();
      if (omp_get_thread_num() == 1 && !healthy)
        TRUTH_JOIN(0);
    }
  }
  filter();
  return 0;
}
