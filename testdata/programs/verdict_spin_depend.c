/* A task spins until a variable changes, which a task does that depends on it through another one: "0". The rest of the
 * team waits at a barrier. "0 1": a task without dependences works, and changes it later.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static int ready, created;

__attribute__((noinline)) static void set_ready(void) { __atomic_store_n(&ready, 1, __ATOMIC_RELEASE); }

__attribute__((noinline)) static void await_ready(void) {
  while (!__atomic_load_n(&created, __ATOMIC_ACQUIRE))
    usleep(100);
  truth_watched(1);
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
    ;
}

int main(int argc, char **argv) {
  int healthy = (int)truth_arg(argc, argv, 2, 0), first = 0, second = 0;
  truth_child(1);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2 + healthy)
#pragma omp single
  {
#pragma omp task depend(out : first)
    {
      await_ready();
      first = 1;
    }
#pragma omp task depend(in : first) depend(out : second)
    { second = first; }
#pragma omp task depend(in : second)
    { set_ready(); }
    if (healthy) {
#pragma omp task
      {
        for (;;)
          pause();
        set_ready();
      }
    }
    __atomic_store_n(&created, 1, __ATOMIC_RELEASE);
  }
  return second;
}
