/* storm.c: many threads, one after the other and some at once; each forks a region. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { AT_ONCE = 16, ROUNDS = 40 };

static omp_lock_t lock;

static void *root(void *p) {
#pragma omp parallel num_threads(1)
  {
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
  }
  return p;
}

int main(void) {
  omp_init_lock(&lock);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t all[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) pthread_create(&all[i], NULL, root, NULL);
    for (int i = 0; i < AT_ONCE; i++) pthread_join(all[i], NULL);
  }
  omp_set_lock(&lock);
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
