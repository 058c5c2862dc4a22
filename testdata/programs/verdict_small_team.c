/* Threads wait for what other threads of their team would do, and the team has fewer threads than its region requests.
 * "0": a section waits for another one, in regions that are nested too deep. "1": a barrier of the program's own waits
 * for as many threads as were requested, and OMP_THREAD_LIMIT allows fewer; the number is read from memory. "2": the
 * same, with a barrier on the stack of the initial thread, which waits at it, too. "3": as in 0, in a league with a limit
 * of one thread for each team. "4": the same, where the runtime gives the team one thread of KMP_TEAMS_THREAD_LIMIT.
 * Second argument of 1: the team has all threads, or they have what they need, and one of them works.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"
#include <semaphore.h>

static int healthy, watched;
static struct pool {
  int size;
  int arrived, turn;
} pool = {4, 0, 0};

__attribute__((noinline)) static void works(void) {
  for (;;)
    pause();
}

__attribute__((noinline)) static void pipeline(void) {
  sem_t ready;
  volatile int item = 0;
  sem_init(&ready, 0, 0);
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    {
      truth_watched(watched);
      sem_wait(&ready);
      item--;
    }
#pragma omp section
    {
      if (healthy)
        works();
      item++;
      sem_post(&ready);
    }
  }
}

__attribute__((noinline)) static void meet(struct pool *p, int watched) {
  int turn = __atomic_load_n(&p->turn, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&p->arrived, 1, __ATOMIC_ACQ_REL) == p->size) {
    __atomic_add_fetch(&p->turn, 1, __ATOMIC_ACQ_REL);
    return;
  }
  truth_watched(watched);
  while (__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) == turn)
    ;
}

static sem_t given;

__attribute__((noinline)) static void take(void) {
  truth_watched(watched);
  sem_wait(&given);
  truth_seen->entered--;
}

__attribute__((noinline)) static void give(void) {
  if (healthy)
    works();
  sem_post(&given);
}

__attribute__((noinline)) static void limited(int threads) {
#pragma omp teams num_teams(1) thread_limit(threads)
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    take();
#pragma omp section
    give();
  }
}

__attribute__((noinline)) static void divided(void) {
#pragma omp teams num_teams(1)
  pipeline();
}

/* LLVM's runtime gives no team of a league more threads than these variables allow, by default one a processor. */
__attribute__((constructor)) static void set_limits(int argc, char **argv) {
  int few = truth_arg(argc, argv, 1, 0) == 4 && !truth_arg(argc, argv, 2, 0);
  if (truth_arg(argc, argv, 1, 0) < 3)
    return;
  setenv("OMP_NUM_THREADS", "2", 1);
  setenv("KMP_TEAMS_THREAD_LIMIT", few ? "1" : "2", 1);
  if (!few) /* on one processor, it is a third limit */
    setenv("OMP_TEAMS_THREAD_LIMIT", "2", 1);
}

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  int threads = way > 2 || (way > 0 && healthy) ? 1 : 2;
  watched = threads;
  truth_child(threads);
  truth_init(argc, argv, __FILE__);
  if (way == 0) {
    omp_set_max_active_levels(healthy ? 2 : 1);
#pragma omp parallel num_threads(2)
    pipeline();
    return 0;
  }
  if (way == 3) {
    limited(healthy ? 2 : 1);
    return 0;
  }
  if (way == 4) {
    divided();
    return 0;
  }
  if (healthy)
    pool.size = 2;
  struct pool mine = pool, *p = way == 2 ? &mine : &pool;
#pragma omp parallel num_threads(p->size)
  {
    if (healthy && omp_get_thread_num() == 1)
      works();
    meet(p, threads);
    __atomic_add_fetch(&p->arrived, 1, __ATOMIC_RELAXED);
  }
  return 0;
}
