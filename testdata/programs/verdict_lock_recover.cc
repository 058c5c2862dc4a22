// A function that is called takes a lock and throws an exception, which its caller catches. The caller also takes the
// lock in its own code. GCC puts the handler and the failing checks of the caller into one part, with two entries.
// Argument of 1: nothing is thrown, and a thread that works holds the lock.
#include "truth.h"
#include <stdexcept>
#include <vector>

static int healthy;
static volatile int shown;
static omp_lock_t shelf;
static std::vector<int> books;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void reads() {
  while (healthy)
    pause();
}

__attribute__((noinline)) static int borrow(int number) {
  omp_set_lock(&shelf);
  if (number >= (int)books.size()) throw std::out_of_range("no such book"); // the way without a release
  int book = books[number];
  omp_unset_lock(&shelf);
  return book;
}

__attribute__((noinline)) static int count() {
  omp_set_lock(&shelf);
  int n = (int)books.size();
  omp_unset_lock(&shelf);
  return n;
}

__attribute__((noinline)) static int visit(int me) {
  int lent = 0;
  if (me == 0) {
    try {
      lent = borrow(healthy ? 0 : 7);
    } catch (const std::out_of_range &) {
      usleep(1);
      lent = -1;
    }
  }
  if (lent > 1000)
    abort();
#pragma omp barrier
  if (healthy && me == 1) {
    omp_set_lock(&shelf);
    truth_set(&shown);
    reads();
    omp_unset_lock(&shelf);
  }
  if (healthy)
    truth_until(&shown);
  TRUTH_WAIT("wait_lock", 0, 0);
  return lent + count();
}

int main(int argc, char **argv) {
  pthread_t observer;
  int sum = 0;
  truth_init(argc, argv, __FILE__);
  healthy = (int)truth_arg(argc, argv, 1, 0);
  books.push_back(451);
  omp_init_lock(&shelf);
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum += visit(omp_get_thread_num());
  }
  return sum < 0;
}
