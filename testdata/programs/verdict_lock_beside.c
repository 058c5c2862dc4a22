/* Each of two threads keeps a lock over a call that acquires the other's. The code would release it before the call if a
 * variable were 0; the next variable on the stack is passed to a function by its address. With 1, it is 0, and one
 * thread works with its lock. */
#include "truth.h"

static omp_lock_t table[2];
static long sum;
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

__attribute__((noinline)) static int keeps(void) { return !works; }

__attribute__((noinline)) static void push(int *value) { __atomic_fetch_add(&sum, *value, __ATOMIC_SEQ_CST); }

__attribute__((noinline)) static void connect_to(int node) {
  omp_set_lock(&table[node]);
  if (works && node == 1)
    TRUTH_HOLD("work_parallel");
  sum++;
  omp_unset_lock(&table[node]);
}

__attribute__((noinline)) static void insert(int node, int other) {
  int keep = keeps();
  omp_set_lock(&table[node]);
  push(&other);
  if (!keep)
    omp_unset_lock(&table[node]);
  meet();
  if (!works || node == 1)
    TRUTH_WAIT("", 0, 0);
  connect_to(other);
  if (keep)
    omp_unset_lock(&table[node]);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  works = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&table[0]);
  omp_init_lock(&table[1]);
  pthread_create(&observer, NULL, look, (void *)2L);
#pragma omp parallel num_threads(2)
  insert(omp_get_thread_num(), 1 - omp_get_thread_num());
  return 0;
}
