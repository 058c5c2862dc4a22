// A member function that acquires a lock throws an exception, which its caller catches. Later all threads wait for the
// lock in another function, which has no way without a release. Argument of 1: nothing is thrown, and a thread that works
// holds the lock.
#include "truth.h"
#include <stdexcept>

static int healthy;
static volatile int taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void works() {
  while (healthy)
    pause();
}

class Account {
  omp_lock_t door;
  long balance, bookings;

public:
  void open(long amount) {
    omp_init_lock(&door);
    balance = amount;
  }
  void withdraw(long amount);
  long read();
  __attribute__((noinline)) void keep() {
    omp_set_lock(&door);
    truth_set(&taken);
    works();
    omp_unset_lock(&door);
  }
};

static Account account;

__attribute__((noinline)) void Account::withdraw(long amount) {
  omp_set_lock(&door);
  if (balance < amount) throw std::domain_error("overdrawn"); // the way without a release
  balance -= amount;
  bookings++;
  omp_unset_lock(&door);
}

__attribute__((noinline)) long Account::read() {
  omp_set_lock(&door);
  long now = balance + bookings;
  omp_unset_lock(&door);
  return now;
}

__attribute__((noinline)) static long day(int me) {
  if (me == 0) {
    try {
      account.withdraw(healthy ? 1 : 100);
    } catch (const std::exception &) {
      usleep(1);
    }
  }
#pragma omp barrier
  if (healthy && me == 1)
    account.keep();
  if (healthy)
    truth_until(&taken);
  TRUTH_WAIT("wait_lock", 0, 0);
  return account.read();
}

int main(int argc, char **argv) {
  pthread_t observer;
  long sum = 0;
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 1, 0);
  account.open(10);
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum += day(omp_get_thread_num());
  }
  return sum < 0;
}
