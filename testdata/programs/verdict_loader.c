/* A thread waits for a lock in a function that the loader calls with its own lock held, and the thread that holds the
 * lock needs the loader's: dl_iterate_phdr takes it.
 * Argument of 1: the thread that the loader called works instead. */
#define _GNU_SOURCE
#include "truth.h"
#include <link.h>

static omp_lock_t results;
static volatile int taken, inside;
static int works;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static int module(struct dl_phdr_info *info, size_t size, void *me) {
  (void)info;
  (void)size;
  if (*(int *)me == 1)
    return 1;
  truth_set(&inside);
  truth_until(&taken);
  while (works)
    pause();
  TRUTH_WAIT("wait_lock", 0, 0);
  omp_set_lock(&results);
  omp_unset_lock(&results);
  return 1;
}

__attribute__((noinline)) static void load(int me) {
  dl_iterate_phdr(module, &me);
  truth_set(&inside);
}

__attribute__((noinline)) static void store(int me) {
  omp_set_lock(&results);
  truth_set(&taken);
  truth_until(&inside);
  TRUTH_WAIT("wait_mutex", 0, 0);
  dl_iterate_phdr(module, &me);
  omp_unset_lock(&results);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  works = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&results);
  pthread_create(&observer, NULL, look, (void *)(works ? 1L : 2L));
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 0)
      load(me);
    else
      store(me);
  }
  return 0;
}
