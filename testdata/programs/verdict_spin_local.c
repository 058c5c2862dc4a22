/* Threads spin on variables on the stack of another thread, or of an outer region, which optimizing compilers describe
 * by lists of locations. "0": a shared variable of a parallel region. "1": one of a nested region, in the outer region.
 * "2": one of a task. "3": one of a parallel region in a teams construct, and one outside of it.
 * Second argument of 1: another thread works, which may change it.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static int healthy, waiting;

__attribute__((noinline)) static void works(void) {
  for (;;)
    pause();
}

__attribute__((noinline)) static void change(int *flag) {
  if (healthy)
    works();
  __atomic_fetch_and(flag, 1, __ATOMIC_RELAXED); /* stays 0: a thread may be in the loop already */
  __atomic_fetch_and(flag, 2, __ATOMIC_RELAXED);
}

/* Before a wait: in a loop, or at the barrier at the end of the region. */
__attribute__((noinline)) static void watched(void) { truth_watched(waiting); }

/* The other threads of a healthy program need not have reached their barriers. */
__attribute__((noinline)) static void arrives(void) {
  if (!healthy)
    watched();
}

__attribute__((noinline)) static void shared(void) {
  int ready = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      watched();
      while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    } else {
      change(&ready);
      arrives();
    }
  }
}

__attribute__((noinline)) static void nested(void) {
#pragma omp parallel num_threads(2)
  {
    int go = 0;
    if (omp_get_thread_num() == 0) {
#pragma omp parallel num_threads(2)
      {
        if (omp_get_thread_num() == 0) {
          watched();
          while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
            ;
        } else {
          arrives();
        }
      }
    } else {
      change(&go);
      arrives();
    }
  }
}

__attribute__((noinline)) static void task(void) {
  int done = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    {
#pragma omp task shared(done)
      {
        watched();
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
          ;
      }
#pragma omp task shared(done)
      {
        change(&done);
        arrives();
      }
    }
  }
}

__attribute__((noinline)) static void league(void) {
  int start = 0;
#pragma omp teams num_teams(1) thread_limit(2)
  {
    int mine = 0;
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 0) {
        watched();
        while (!__atomic_load_n(&mine, __ATOMIC_ACQUIRE) && !__atomic_load_n(&start, __ATOMIC_ACQUIRE))
          ;
      } else {
        change(&mine);
        change(&start);
        arrives();
      }
    }
  }
}

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  waiting = healthy ? 1 : way == 1 ? 3 : 2;
  truth_child(waiting);
  truth_init(argc, argv, __FILE__);
  switch (way) {
  case 0:
    shared();
    break;
  case 1:
    omp_set_max_active_levels(2);
    nested();
    break;
  case 2:
    task();
    break;
  default:
    league();
  }
  return 0;
}
