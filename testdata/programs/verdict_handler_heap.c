/* The program has written past the end of a block of the heap; malloc finds that and calls abort, with its lock held.
 * The handler of the signal calls malloc, and waits for that lock for ever.
 * Argument of 1: the handler sleeps instead.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static volatile int crashed;
static char *volatile row, *volatile next;
static int sleeps;

static void report(int signal) {
  (void)signal;
  truth_watched(3); /* of two threads: none of them writes the truth, which may allocate memory */
  truth_set(&crashed);
  while (sleeps)
    usleep(1000);
  next = (char *)malloc(200000);
  _exit(1);
}

__attribute__((noinline)) static void fill(void) {
  row = (char *)malloc(100000);
  memset(row, 0xff, 100064);
}

__attribute__((noinline)) static void grow(void) {
  next = (char *)malloc(70000);
  next[0] = row[0];
}

int main(int argc, char **argv) {
  sleeps = (int)truth_arg(argc, argv, 1, 0);
  truth_child(sleeps ? 1 : 2);
  truth_init(argc, argv, __FILE__);
  truth_write(0);
  signal(SIGABRT, report);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      fill();
      grow();
    } else if (!sleeps) {
      truth_until(&crashed);
      truth_watched(3);
    }
#pragma omp barrier
  }
  return 0;
}
