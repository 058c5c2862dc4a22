/* An array of locks moves to a larger place while two of its locks are set: with GNU's runtime the copies stay set for
 * ever, as the threads release the old locks. Each thread acquires one lock at a time, in a loop.
 * 1: the array moves before that, and one thread computes with the second lock: no verdict. */
#include <string.h>

#include "truth.h"

struct item {
  omp_lock_t lock;
  int sum;
};

static struct item old[4], larger[8], *volatile items = old;
static volatile int taken[3], moved;
static long before;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void move(void) {
  memcpy(larger, old, sizeof old);
  items = larger;
  truth_set(&moved);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  before = truth_arg(argc, argv, 1, 0);
  for (int i = 0; i < 4; i++)
    omp_init_lock(&old[i].lock);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    TRUTH_REGION(__LINE__ - 3);
    if (me == 0) {
      if (!before) {
        truth_until(&taken[1]);
        truth_until(&taken[2]);
      }
      move();
    } else {
      if (before)
        truth_until(&moved);
      for (int turn = 0; turn < 2; turn++) {
        int i = turn ? 3 - me : me;
        omp_lock_t *lock = &items[i].lock;
        if (turn && !before)
          TRUTH_WAIT("wait_lock", lock, __LINE__ + 3);
        if (turn && before && me == 2)
          TRUTH_WAIT("wait_lock", lock, __LINE__ + 1);
        omp_set_lock(lock);
        items[i].sum += me;
        truth_set(&taken[me]);
        if (!before)
          truth_until(&moved);
        if (!turn && before && me == 1)
          TRUTH_HOLD("work_parallel");
        if (!turn && before && me == 2)
          truth_until(&taken[1]);
        omp_unset_lock(lock);
      }
    }
  }
  return 0;
}
