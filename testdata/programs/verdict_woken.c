/* All threads sleep until another wakes them, in vain: "0" on a condition variable without a
 * signal, "1" on a semaphore. A second argument of 1: one more thread of the program works,
 * and would wake them later; of 2: another process would, which shares the semaphore. */
#include "truth.h"
#include <semaphore.h>
#include <sys/mman.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static sem_t items, *shared = &items;
static int full, way;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void wake(void) {
  if (way == 0) {
    pthread_mutex_lock(&mutex);
    full = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&mutex);
  } else {
    sem_post(shared);
  }
}

static void *work(void *unused) {
  (void)unused;
  pause(); /* works on, for ever */
  wake();
  return NULL;
}

__attribute__((noinline)) static void take(void) {
  TRUTH_SLEEP("work_parallel", 0, 0);
  if (way == 0) {
    pthread_mutex_lock(&mutex);
    while (!full)
      pthread_cond_wait(&filled, &mutex);
    pthread_mutex_unlock(&mutex);
  } else {
    sem_wait(shared);
  }
  wake(); /* each would wake the next */
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  if (truth_arg(argc, argv, 2, 0) == 2)
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sem_init(shared, shared != &items, 0);
  if (truth_arg(argc, argv, 2, 0) == 1)
    pthread_create(&worker, NULL, work, NULL);
  if (shared != &items && fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(NULL);
  }
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  take();
  return 0;
}
