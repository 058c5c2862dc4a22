/* A thread of a region writes past the end of a block of the heap (0),
 * until the runtime's data on the team, or on the thread, is overwritten
 * as well, and the program ends itself; or it writes the block alone (1);
 * or another thread finds the damage meanwhile, and cannot print that (2). */
#include "truth.h"
#include <fcntl.h>

static volatile int over; /* the heap is damaged */
static volatile int finder; /* the LWP of the thread that finds the damage */

/* fill_errors makes the standard error a full pipe. */
static void fill_errors(void) {
  int ends[2];
  char bytes[4096] = "";
  if (pipe2(ends, O_NONBLOCK))
    abort();
  while (write(ends[1], bytes, sizeof bytes) > 0)
    ;
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], 2);
}

/* await_finder returns when the other thread is in the call that prints the message. */
static void await_finder(void) {
  static char seen[128];
  struct timespec nap = {0, 1000000};
  while (!finder || !truth_still(finder, SYS_writev, seen, sizeof seen))
    nanosleep(&nap, NULL);
}

int main(int argc, char **argv) {
  long how = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  long *block = malloc(200), *next = malloc(200);
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      truth_await(how == 2 ? 2 : 3), truth_write(1);
      if (how == 2) {
        fill_errors();
        *(volatile long *)(block + 25) = 0; /* the size of the next block */
        truth_set(&over);
        await_finder();
        abort();
      }
      for (volatile long *p = block; how ? p < block + 25 : omp_get_num_threads() == 4; p++)
        *p = 0;
      abort();
    } else if (how == 2 && omp_get_thread_num() == 1) {
      truth_until(&over);
      finder = truth_tid();
      free(next);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
