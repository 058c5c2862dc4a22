/* Looks like threads on a semaphore without a post, but the handler of a signal posts it. */
#include "truth.h"
#include <semaphore.h>

static sem_t items;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

static void post(int signal) {
  (void)signal;
  sem_post(&items);
}

__attribute__((noinline)) static void take(void) {
  TRUTH_SLEEP("work_parallel", 0, 0);
  while (sem_wait(&items) != 0)
    continue;
}

int main(int argc, char **argv) {
  pthread_t observer;
  struct sigaction handler = {0};
  truth_init(argc, argv, __FILE__);
  sem_init(&items, 0, 0);
  handler.sa_handler = post;
  sigaction(SIGUSR1, &handler, NULL);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  take();
  return 0;
}
