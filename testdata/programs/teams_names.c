/* Constructs of a league, each around a call of stay in which the threads remain; the second argument selects one:
 * "0": teams. "1": teams distribute. "2": target teams distribute parallel for, on the host. "3": a parallel region in
 * teams. "4": the same, with an if clause that is false. "5": a task in a parallel region in teams. "6": target
 * parallel, on the host. */
#include "truth.h"

static volatile int sink;
static int trigger;

__attribute__((constructor)) static void more_threads(void) {
  setenv("OMP_NUM_THREADS", "2", 1);
  setenv("KMP_TEAMS_THREAD_LIMIT", "8", 1);
  setenv("OMP_TARGET_OFFLOAD", "disabled", 1);
}

__attribute__((noinline)) static void stay(void) {
  if (__atomic_exchange_n(&trigger, 1, __ATOMIC_SEQ_CST) == 0)
    truth_trigger("work_parallel", 0);
  truth_hold("work_parallel", 1);
}

static void (*volatile call)(void) = stay; /* a device would need the code of a function called by name */

__attribute__((noinline)) static void alone(void) {
#pragma omp teams num_teams(2) thread_limit(2)
  {
    call();
    sink++;
  }
  sink++;
}

__attribute__((noinline)) static void distributed(void) {
#pragma omp teams distribute num_teams(2) thread_limit(2)
  for (int i = 0; i < 4; i++) {
    call();
    sink += i;
  }
  sink++;
}

__attribute__((noinline)) static void combined(void) {
  void (*in)(void) = call;
#pragma omp target teams distribute parallel for num_teams(2) thread_limit(2) map(tofrom : sink)
  for (int i = 0; i < 4; i++) {
    in();
    sink += 2 * i;
  }
  sink++;
}

__attribute__((noinline)) static void nested(int parallel) {
#pragma omp teams num_teams(1) thread_limit(2)
  {
    sink += 3;
#pragma omp parallel num_threads(2) if (parallel)
    {
      call();
      sink += 4;
    }
    sink += 5;
  }
  sink++;
}

__attribute__((noinline)) static void tasks(void) {
#pragma omp teams num_teams(1) thread_limit(2)
  {
    sink += 6;
#pragma omp parallel num_threads(2)
    {
#pragma omp task
      {
        call();
        sink += 7;
      }
#pragma omp taskwait
      sink += 8;
    }
    sink += 9;
  }
  sink++;
}

__attribute__((noinline)) static void parallel(void) {
  void (*in)(void) = call;
#pragma omp target parallel num_threads(2) map(tofrom : sink)
  {
    in();
    sink += 10;
  }
  sink++;
}

int main(int argc, char **argv) {
  int way = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  switch (way) {
  case 0:
    alone();
    break;
  case 1:
    distributed();
    break;
  case 2:
    combined();
    break;
  case 3:
  case 4:
    nested(way == 3);
    break;
  case 5:
    tasks();
    break;
  default:
    parallel();
  }
  return 0;
}
