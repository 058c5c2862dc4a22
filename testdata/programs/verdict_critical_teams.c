/* In a teams construct on the host, two threads enter two critical constructs in opposite orders.
 * The functions end with the release, which optimizing compilers make a jump. "1": in the same order, and the thread
 * that holds both works. */
#include "truth.h"

static int same;
static volatile int here[2], taken;
static long left, right;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void works(void) {
  truth_set(&taken);
  while (same)
    pause(); /* for ever */
}

__attribute__((noinline)) static void arrive(int me) {
  truth_set(&here[me]);
  truth_until(&here[1 - me]);
  TRUTH_WAIT("wait_critical", 0, 0);
}

__attribute__((noinline)) static void add_left(void) {
#pragma omp critical(left_side)
  {
    works();
    left++;
  }
}

__attribute__((noinline)) static void add_right(void) {
#pragma omp critical(right_side)
  {
    works();
    right++;
  }
}

__attribute__((noinline)) static void from_left(void) {
#pragma omp critical(left_side)
  {
    if (!same)
      arrive(0);
    add_right();
  }
}

__attribute__((noinline)) static void from_right(void) {
#pragma omp critical(right_side)
  {
    arrive(1);
    add_left();
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  same = (int)truth_arg(argc, argv, 1, 0);
  pthread_create(&observer, NULL, look, (void *)(same ? 1L : 2L));
#pragma omp teams num_teams(1) thread_limit(2)
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      from_left();
    } else if (same) {
      truth_until(&taken);
      TRUTH_WAIT("wait_critical", 0, 0);
      from_left();
    } else {
      from_right();
    }
  }
  return left + right < 0;
}
