/* A segmentation fault before the first call of the OpenMP runtime, which is loaded. */
#include "truth.h"

static volatile int ready;

__attribute__((noinline)) static void prepare(void) {
  if (!ready)
    truth_end();
  ready++;
}

/* Separate, so that main contains no OpenMP code that the compiler could move up. */
__attribute__((noinline)) static void work(void) {
#pragma omp parallel num_threads(2)
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  if (!strcmp(truth_mode, "abort"))
    truth_mode = "segv";
  prepare();
  work();
  return 0;
}
