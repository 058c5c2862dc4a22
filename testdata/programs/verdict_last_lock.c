/* A deadlock of two locks. The second one is acquired by the last call of a region's function ("0"), of a helper that is
 * the region's last call ("1"), of a nested region ("2") or of a task ("3"). Compilers make jumps of these calls, so
 * that the functions have no frames. A second argument of 1: one of the threads works before its last call. */
#include "truth.h"
#include <stdlib.h>

static omp_lock_t first, second;
static int works, have;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

/* meet returns when both threads are here. */
__attribute__((noinline)) static void meet(void) {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(1000);
}

__attribute__((noinline)) static void wait_or_work(int number) {
  if (works && number == 0)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("", 0, 0);
}

__attribute__((noinline)) static void acquire(omp_lock_t *lock) { omp_set_lock(lock); }

static void in_region(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      omp_set_lock(&first);
      meet();
      wait_or_work(0);
      omp_set_lock(&second);
    } else {
      omp_set_lock(&second);
      meet();
      wait_or_work(1);
      omp_set_lock(&first);
    }
  }
}

static void in_helper(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      omp_set_lock(&first);
      meet();
      wait_or_work(0);
      acquire(&second);
    } else {
      omp_set_lock(&second);
      meet();
      wait_or_work(1);
      acquire(&first);
    }
  }
}

static void in_nested(void) {
#pragma omp parallel num_threads(2)
  {
    int number = omp_get_thread_num();
    omp_set_lock(number ? &second : &first);
    meet();
#pragma omp parallel num_threads(2)
    {
      int outer = omp_get_ancestor_thread_num(1);
      if (omp_get_thread_num() == 0) {
        wait_or_work(outer);
        omp_set_lock(outer ? &first : &second);
      }
    }
  }
}

static void in_tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      omp_set_lock(&first);
      meet();
      wait_or_work(0);
      omp_set_lock(&second);
    }
#pragma omp task
    {
      omp_set_lock(&second);
      meet();
      wait_or_work(1);
      omp_set_lock(&first);
    }
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  works = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&first);
  omp_init_lock(&second);
  omp_set_max_active_levels(2);
  pthread_create(&observer, NULL, look, (void *)2L);
  switch (truth_arg(argc, argv, 1, 0)) {
  case 0:
    in_region();
    break;
  case 1:
    in_helper();
    break;
  case 2:
    in_nested();
    break;
  default:
    in_tasks();
  }
  return 0;
}
