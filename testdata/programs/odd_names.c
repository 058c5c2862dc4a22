/* Functions with truncated names that start like those of runtimes:
 * programs may have these. The process ends in one of them. */
#include "truth.h"

static volatile int started;

__attribute__((noinline)) void __kmpc_4(void) {
  truth_trigger("work_parallel", 1);
  started++;
}
__attribute__((noinline)) void __kmpc_8u(void) {
  __kmpc_4();
  started++;
}
__attribute__((noinline)) void __kmpc_(void) {
  __kmpc_8u();
  started++;
}
__attribute__((noinline)) void GOMP_(void) {
  __kmpc_();
  started++;
}
__attribute__((noinline)) void GOMP_loop_(void) {
  GOMP_();
  started++;
}
__attribute__((noinline)) void _Z(void) {
  GOMP_loop_();
  started++;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      _Z();
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
