/* A worker calls a function recursively until its stack is exhausted. */
#include "truth.h"

static volatile int sink;

__attribute__((noinline)) static int deeper(int n) {
  volatile char room[512];
  room[n & 511] = (char)n;
  sink += deeper(n + 1) + room[(n + 1) & 511];
  return sink;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_write(1);
      deeper(0);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
