/* A worker has an array that is larger than its stack: it ends in a variable of a function of another worker, and
 * nothing between them is accessed. "0": the other one sets that variable, and the worker uses it as a pointer. "1": the
 * worker clears it, and the other one uses it. "2": the worker clears it and waits for the other one, which spins on it;
 * with a second argument of 1, the worker has no array, and works on a fiber that has its stack in the other one's
 * frame. "3": the same, and the fiber is the handler of a signal with an alternate stack.
 *
 * The threads of "2" and "3" are those of a child; its parent only waits. */
#include "truth.h"
#include <ucontext.h>

enum { STACK = 65536, SLACK = 1024 };

static char *volatile places[3];
static char *volatile lent; /* a stack in the other worker's frame */
static int *volatile *volatile spot;
static volatile int published, cleared, done, working;
static int way, healthy;

__attribute__((noinline)) static void works(void) {
  __atomic_add_fetch(&working, 1, __ATOMIC_RELEASE);
  for (;;)
    pause();
}

__attribute__((noinline)) static int use(void) {
  int value = 5;
  int *volatile p = &value;
  spot = &p;
  truth_set(&published);
  truth_until(&cleared);
  if (way == 0) {
    p = NULL;
    truth_set(&done);
    for (;;)
      pause();
  }
  if (way >= 2) {
    truth_watched(2);
    while (!p)
      ;
    truth_set(&done);
  }
  return *p;
}

__attribute__((noinline)) static int overrun(char *here) {
  int value = 6;
  volatile char all[here - (char *)spot + SLACK];
  int *volatile *place = (int *volatile *)((char *)all + ((char *)spot - (char *)all));
  *place = way == 0 ? &value : NULL;
  if (way >= 2)
    truth_watched(2);
  else
    truth_write(1);
  truth_set(&cleared);
  while (!done)
    ;
  return **place + all[0];
}

__attribute__((noinline)) static void lend(void) {
  char stack[STACK];
  lent = stack;
  truth_set(&published);
  works();
}

static void handle(int sig) {
  (void)sig;
  works();
}

__attribute__((noinline)) static void borrow(void) {
  static ucontext_t here, fiber;
  stack_t s = {.ss_sp = lent, .ss_size = STACK};
  if (way == 3) {
    struct sigaction a = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&s, NULL);
    sigaction(SIGUSR1, &a, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
  } else {
    getcontext(&fiber);
    fiber.uc_stack = s;
    makecontext(&fiber, works, 0);
    swapcontext(&here, &fiber);
  }
}

int main(int argc, char **argv) {
  int c = 0;
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  if (way >= 2)
    truth_child(healthy ? 1 : 2);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3) reduction(+ : c)
  {
    char here;
    int me = omp_get_thread_num();
    TRUTH_REGION(__LINE__ - 3);
    places[me] = &here;
#pragma omp barrier
    if (me != 0) {
      int upper = places[1] > places[2] ? 1 : 2;
      if (me != upper) {
        if (healthy)
          lend();
        c += use();
      } else {
        truth_until(&published);
        if (healthy)
          borrow();
        c += overrun(&here);
      }
    } else if (healthy) {
      while (__atomic_load_n(&working, __ATOMIC_ACQUIRE) < 2)
        usleep(200);
      truth_watched(1);
    }
  }
  return c;
}
