/* Transfers lock two accounts of an array, the lower one first. One returned early, with
 * the first account locked, and now all threads wait for that account; optimized code has
 * the transfer in the loop, where the return is a jump to the next iteration. "1" looks
 * the same, but no transfer returned early, and one more thread holds the lock and works. */
#include "truth.h"

#define TURNS 2

static struct account {
  omp_lock_t lock;
  long balance;
} accounts[8];

static const int pairs[TURNS][2] = {{3, 3}, {5, 2}};
static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *work(void *unused) {
  (void)unused;
  omp_set_lock(&accounts[2].lock);
  truth_set(&held);
  while (held)
    pause(); /* works on, for ever */
  omp_unset_lock(&accounts[2].lock);
  return NULL;
}

static void transfer(int from, int to, long amount) {
  omp_set_lock(&accounts[from].lock);
  if (accounts[from].balance < amount) return; /* without a release */
  omp_set_lock(&accounts[to].lock);
  accounts[from].balance -= amount;
  accounts[to].balance += amount;
  omp_unset_lock(&accounts[to].lock);
  omp_unset_lock(&accounts[from].lock);
}

__attribute__((noinline)) static void transfers(const int (*pair)[2], int turns, long amount) {
  for (int turn = 0; turn < turns; turn++) {
    int from = pair[turn][0], to = pair[turn][1];
    if (from == to)
      continue;
    if (from > to) {
      int lower = to;
      to = from;
      from = lower;
    }
    transfer(from, to, amount);
  }
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  truth_init(argc, argv, __FILE__);
  int healthy = (int)truth_arg(argc, argv, 1, 0) == 1;
  for (int i = 0; i < 8; i++) {
    omp_init_lock(&accounts[i].lock);
    accounts[i].balance = 100;
  }
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 1)
      transfers(pairs, TURNS, healthy ? 10 : 1000);
#pragma omp barrier
#pragma omp single
    {
      if (healthy) {
        pthread_create(&worker, NULL, work, NULL);
        truth_until(&held);
      }
      pthread_create(&observer, NULL, look, (void *)3);
    }
    TRUTH_WAIT("wait_lock", &accounts[2].lock, 0);
    transfers(pairs, TURNS, 10);
  }
  return 0;
}
