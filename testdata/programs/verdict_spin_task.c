/* All threads of a team are in tasks that spin until a variable changes, and the task that would change it is queued.
 * "0": plain loops. "1": loops with a taskyield, in which GNU's runtime does nothing.
 * Second argument of 1: a third thread executes that task, and works before it changes the variable.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static int ready, queued;

__attribute__((noinline)) static void works(void) {
  for (;;)
    pause();
}

static int changed(void) {
  int r;
#pragma omp atomic read
  r = ready;
  return r;
}

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  int healthy = (int)truth_arg(argc, argv, 2, 0);
  truth_child(2);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2 + healthy)
#pragma omp single
  {
    for (int i = 0; i < 2; i++)
#pragma omp task
    {
      while (!__atomic_load_n(&queued, __ATOMIC_ACQUIRE))
        usleep(100);
      truth_watched(2);
      if (way == 0)
        while (!changed())
          ;
      else
        do {
#pragma omp taskyield
        } while (!changed());
    }
#pragma omp task
    {
      if (healthy)
        works();
#pragma omp atomic write
      ready = 1;
    }
    __atomic_store_n(&queued, 1, __ATOMIC_RELEASE);
  }
  return 0;
}
