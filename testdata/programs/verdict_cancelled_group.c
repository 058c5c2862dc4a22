/* A task waits for a variable that another task of its taskgroup would change, and the taskgroup is cancelled before
 * that one starts: it is discarded. "0": a loop. "1": a semaphore. "2": the taskgroup is not cancelled, and the other
 * task changes nothing. Second argument of 1: healthy, the taskgroup is not cancelled, and the other task works before
 * it ends the wait. Needs OMP_CANCELLATION=true.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"
#include <semaphore.h>

static int ready, begun, watched;
static sem_t posted;

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

__attribute__((noinline)) static void await(long way) {
  truth_watched(watched);
  if (way != 1)
    while (!changed())
      ;
  else
    sem_wait(&posted);
}

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  int healthy = (int)truth_arg(argc, argv, 2, 0);
  sem_init(&posted, 0, 0);
  watched = healthy ? 1 : 2;
  truth_child(watched);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
  {
#pragma omp task
    {
      __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
      await(way);
    }
    while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
      usleep(100);
#pragma omp task
    {
      if (healthy)
        works();
      if (way < 2) {
#pragma omp atomic write
        ready = 1;
        sem_post(&posted);
      }
    }
    if (!healthy) {
#pragma omp task if (0)
      if (way < 2) {
#pragma omp cancel taskgroup
      }
      truth_watched(watched);
    }
  }
  return 0;
}
