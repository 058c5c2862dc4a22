/* A thread reads from a pipe that stays empty, and the others wait for it: "0" for its critical
 * section, "1" at a barrier. It is not a hang: the writing end may belong to another process. */
#include "truth.h"

static int ends[2];
static volatile int inside;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void fetch(char *item) {
  truth_set(&inside);
  truth_enter(TRUTH_READS, "work_parallel", 0, __func__, __FILE__, __LINE__ + 1);
  if (read(ends[0], item, 1) < 0)
    _exit(3);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  char item;
  long at_barrier = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  if (pipe(ends))
    _exit(3);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3) private(item)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
#pragma omp critical(transfer)
      fetch(&item);
    }
    truth_until(&inside);
    if (!at_barrier) {
      TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(transfer)
      fetch(&item);
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
