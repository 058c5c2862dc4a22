/* many.c: 1,024 threads; all write more than their rings hold, and then stop. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 1024, LOCKS = THREADS, ROUNDS = 2000 };

static omp_lock_t locks[LOCKS];

int main(void) {
  for (int i = 0; i < LOCKS; i++) omp_init_lock(&locks[i]);
#pragma omp parallel num_threads(THREADS)
  {
    omp_lock_t *mine = &locks[omp_get_thread_num() % LOCKS];
    for (int i = 0; i < ROUNDS; i++) {
      omp_set_lock(mine);
      omp_unset_lock(mine);
    }
#pragma omp barrier
#pragma omp masked
    {
      printf("READY\n");
      fflush(stdout);
    }
    for (;;) pause();
  }
}
