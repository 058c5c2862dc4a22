/* A region whose shared variable is the result of a function that compilers inline from a system header, as the last
 * thing before the region: optimizers give the header's line to the call that forks the region. Thread 1 waits at the
 * region's end. */
#include "truth.h"
#include <stdlib.h>

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2L);
  int kind = atoi(argv[1]);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == kind)
      TRUTH_HOLD("work_parallel");
    else
      TRUTH_SLEEP("", 0, 0);
  }
  return 0;
}
