/* The threads of a team wait at a barrier of the C library for one more thread than the team has. An
 * argument of 1: that thread is one of the program's that works, and would arrive later.
 *
 * The threads are those of a child without working threads; its parent waits. */
#include "truth.h"

static pthread_barrier_t meeting;

__attribute__((noinline)) static void meet(void) {
  truth_watched(3);
  pthread_barrier_wait(&meeting);
  TRUTH_NEVER();
}

static void *later(void *unused) {
  (void)unused;
  pause(); /* works on, for ever */
  pthread_barrier_wait(&meeting);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t worker;
  truth_child(3);
  truth_init(argc, argv, __FILE__);
  pthread_barrier_init(&meeting, NULL, 4);
  if (truth_arg(argc, argv, 1, 0))
    pthread_create(&worker, NULL, later, NULL);
#pragma omp parallel num_threads(3)
  meet();
  return 0;
}
