/* Threads wait for what other threads of their team would do, and the team has fewer threads than its region requests.
 * "0": a section waits for another one, in regions that are nested too deep. "1": a barrier of the program's own waits
 * for as many threads as were requested, and OMP_THREAD_LIMIT allows fewer; the number is read from memory. "2": the
 * same, with a barrier on the stack of the initial thread, which waits at it, too.
 * Second argument of 1: the team has all threads, or they have what they need, and one of them works.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"
#include <semaphore.h>

static int healthy;
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
      truth_watched(2);
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

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  int threads = way > 0 && healthy ? 1 : 2;
  truth_child(threads);
  truth_init(argc, argv, __FILE__);
  if (way == 0) {
    omp_set_max_active_levels(healthy ? 2 : 1);
#pragma omp parallel num_threads(2)
    pipeline();
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
