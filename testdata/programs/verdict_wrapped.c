/* A deadlock of locks in structures on the heap, which
 * the program acquires and releases by its own functions. */
#include "truth.h"

struct account {
  long balance;
  omp_lock_t lock;
};

static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void account_open(struct account *a) { omp_set_lock(&a->lock); }

__attribute__((noinline)) static void account_close(struct account *a) {
  a->balance++;
  omp_unset_lock(&a->lock);
}

__attribute__((noinline)) static void both_held(void) {
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

__attribute__((noinline)) static void transfer(struct account *from, struct account *to) {
  account_open(from);
  account_close(from); /* taken, given back, and taken again */
  account_open(from);
  both_held();
  TRUTH_WAIT("wait_lock", &to->lock, __LINE__ + 1);
  omp_set_lock(&to->lock); /* what comes after keeps its values alive */
  omp_unset_lock(&to->lock);
  account_close(from);
}

int main(int argc, char **argv) {
  pthread_t observer;
  struct account *all = calloc(8, sizeof *all);
  truth_init(argc, argv, __FILE__);
  for (int i = 0; i < 8; i++)
    omp_init_lock(&all[i].lock);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    transfer(&all[2 + me], &all[3 - me]);
  }
  return 0;
}
