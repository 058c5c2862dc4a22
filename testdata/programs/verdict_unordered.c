/* An ordered construct in a function that is called from a loop without an ordered clause (0), or with one (1). The
 * second argument 1 makes it healthy: a thread is at work in the ordered construct.
 * GNU's runtime lets in one thread at most. On LLVM's, the members of the team take turns: the second loop hangs,
 * because one member has no iteration. */
#include "truth.h"

enum { threads = 3, rows = 2 };
static volatile int last, works;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void log_row(int row) {
#pragma omp ordered
  {
    if (works && row == 0)
      truth_hold("work_parallel", 1);
    last = row;
  }
  last++;
}

__attribute__((noinline)) static void without(void) {
#pragma omp for schedule(static)
  for (int i = 0; i < rows; i++)
    log_row(i);
  last++;
}

__attribute__((noinline)) static void with(void) {
#pragma omp for ordered schedule(static)
  for (int i = 0; i < rows; i++)
    log_row(i);
  last++;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  int clause = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)(long)threads);
#pragma omp parallel num_threads(threads)
  {
    truth_enter(TRUTH_SPINNING, "wait_ordered", 0, "", "", 0);
    for (int pass = 0; pass < 2; pass++) {
      if (clause)
        with();
      else
        without();
    }
    last++;
    if (clause)
      truth_hold("work_parallel", 1);
  }
  return 0;
}
