/* The threads of nested teams have left the runtime and stay in a destructor of the program, while
 * the memory of their teams is reused. For libgomp, where nested teams end with their threads.
 */
#include "truth.h"
#include <semaphore.h>

enum { TEAMS = 2, BLOCKS = 64, STEP = 64 };

static pthread_key_t key;
static sem_t left;

static void stay(void *unused) {
  sem_post(&left);
  for (;;)
    pause();
}

/* Takes blocks of all sizes that a team may have had, in the heap of the thread that had it. */
__attribute__((noinline)) static void overwrite(void) {
  for (int i = 1; i < BLOCKS; i++) {
    char *block = malloc(i * STEP);
    memset(block, 0xc8, i * STEP);
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  if (sem_init(&left, 0, 0) || pthread_key_create(&key, stay))
    return 3;
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(TEAMS)
  {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
      pthread_setspecific(key, &left);
    overwrite();
  }
  for (int i = 0; i < TEAMS; i++)
    while (sem_wait(&left))
      ;
  truth_end();
  return 0;
}
