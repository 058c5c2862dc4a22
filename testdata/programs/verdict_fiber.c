/* A fiber is suspended while it holds a lock, and the thread that would continue it waits for the lock: "0" in another
 * fiber, "1" on its own stack.
 * A second argument of 1: another thread works, and continues the fiber after that.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"
#include <ucontext.h>

#define STACK 65536

static omp_lock_t chair;
static ucontext_t scheduler, visitor, sitting, standing;
static char stacks[2][STACK];
static volatile int taken, done;
static int other;

static void sit(void) {
  omp_set_lock(&chair);
  swapcontext(&sitting, &scheduler);
  omp_unset_lock(&chair);
  swapcontext(&sitting, &visitor);
}

static void stand(void) {
  truth_watched(other ? 1 : 2);
  omp_set_lock(&chair);
  omp_unset_lock(&chair);
}

__attribute__((noinline)) static void start(ucontext_t *fiber, char *stack, void (*function)(void)) {
  getcontext(fiber);
  fiber->uc_stack.ss_sp = stack;
  fiber->uc_stack.ss_size = STACK;
  fiber->uc_link = &scheduler;
  makecontext(fiber, function, 0);
  swapcontext(&scheduler, fiber);
}

__attribute__((noinline)) static void work(int me, int way) {
  if (me == 0) {
    start(&sitting, stacks[0], sit);
    truth_set(&taken);
    if (way == 0)
      start(&standing, stacks[1], stand);
    else
      stand();
  } else if (other) {
    truth_until(&taken);
    while (!done)
      pause(); /* works for ever */
    swapcontext(&visitor, &sitting);
  } else {
    truth_watched(2);
  }
}

int main(int argc, char **argv) {
  int way = (int)truth_arg(argc, argv, 1, 0);
  other = (int)truth_arg(argc, argv, 2, 0);
  truth_child(other ? 1 : 2);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&chair);
#pragma omp parallel num_threads(2)
  work(omp_get_thread_num(), way);
  return done;
}
