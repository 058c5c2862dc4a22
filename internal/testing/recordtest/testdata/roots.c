/* roots.c: two threads that start to use OpenMP at once, each with its own region, and then stop. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOTS = 2 };

static pthread_barrier_t all;
static volatile int started;

static void *root(void *arg) {
  (void)arg;
  __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
  while (started < ROOTS) continue;
#pragma omp parallel num_threads(1)
  {
    pthread_barrier_wait(&all);
    for (;;) pause();
  }
  return NULL;
}

int main(void) {
  pthread_t threads[ROOTS];
  pthread_barrier_init(&all, NULL, ROOTS + 1);
  for (int i = 0; i < ROOTS; i++) pthread_create(&threads[i], NULL, root, NULL);
  pthread_barrier_wait(&all);
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
