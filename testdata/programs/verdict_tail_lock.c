/* A deadlock of locks in structures, acquired by functions that end in the
 * call of the runtime: while a thread waits, their frames are gone, and their
 * arguments are not the lock. "1": by functions through pointers. The number
 * after it is 1 in the healthy twin: one thread holds its lock and works. */
#include "truth.h"

struct account {
  long balance;
  omp_lock_t lock;
};

static volatile int held, go_on = 1;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void account_open(struct account *a) { omp_set_lock(&a->lock); }
__attribute__((noinline)) static void account_close(struct account *a) { omp_unset_lock(&a->lock); }

struct operations {
  void (*open)(struct account *), (*close)(struct account *);
};

static struct operations *volatile operations;

__attribute__((noinline)) static void both_held(void) {
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

__attribute__((noinline)) static void works(void) {
  if (go_on)
    TRUTH_HOLD("work_parallel");
}

__attribute__((noinline)) static void transfer(struct account *from, struct account *to, int at_work) {
  account_open(from);
  both_held();
  if (at_work)
    works();
  TRUTH_WAIT("wait_lock", &to->lock, __LINE__ + 1);
  account_open(to);
  to->balance++;
  account_close(to);
  account_close(from);
}

__attribute__((noinline)) static void transfer_by(struct operations *by, struct account *from, struct account *to,
                                                  int at_work) {
  by->open(from);
  both_held();
  if (at_work)
    works();
  TRUTH_WAIT("wait_lock", &to->lock, __LINE__ + 1);
  by->open(to);
  to->balance++;
  by->close(to);
  by->close(from);
}

int main(int argc, char **argv) {
  pthread_t observer;
  struct account *all = calloc(8, sizeof *all);
  truth_init(argc, argv, __FILE__);
  int pointers = (int)truth_arg(argc, argv, 1, 0), healthy = (int)truth_arg(argc, argv, 2, 0);
  operations = malloc(sizeof *operations);
  *operations = (struct operations){account_open, account_close};
  for (int i = 0; i < 8; i++)
    omp_init_lock(&all[i].lock);
  pthread_create(&observer, NULL, look, (void *)2L);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (pointers)
      transfer_by(operations, &all[2 + me], &all[3 - me], healthy && me == 0);
    else
      transfer(&all[2 + me], &all[3 - me], healthy && me == 0);
  }
  return 0;
}
