/* A deadlock of two locks in local variables of the function that has the parallel region: plain
 * ones (0), in an array (1), in a structure (2). */
#include "truth.h"

struct ledger {
  long entries;
  omp_lock_t lock;
};

static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void both(omp_lock_t *mine, omp_lock_t *other) {
  omp_set_lock(mine);
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  TRUTH_WAIT("wait_lock", other, __LINE__ + 1);
  omp_set_lock(other); /* what comes after keeps its values alive */
  omp_unset_lock(other);
  omp_unset_lock(mine);
}

__attribute__((noinline)) static void plain(void) {
  omp_lock_t debit, credit;
  omp_init_lock(&debit);
  omp_init_lock(&credit);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      both(&debit, &credit);
    else
      both(&credit, &debit);
  }
}

__attribute__((noinline)) static void array(void) {
  omp_lock_t forks[5];
  for (int i = 0; i < 5; i++)
    omp_init_lock(&forks[i]);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    both(&forks[2 + me], &forks[3 - me]);
  }
}

__attribute__((noinline)) static void members(void) {
  struct ledger books[2];
  for (int i = 0; i < 2; i++)
    omp_init_lock(&books[i].lock);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    both(&books[me].lock, &books[1 - me].lock);
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
  switch (truth_arg(argc, argv, 1, 0)) {
  case 0:
    plain();
    break;
  case 1:
    array();
    break;
  default:
    members();
  }
  return 0;
}
