// Each thread leaves its own lock unreleased, and then waits for that of the next thread: as many
// locks as threads, which are never released. The first argument selects how it is left.
// "0": an exception that the loop around catches; the locks are in a std::vector of structures.
// "1": a `continue`, in an array. "2": a `return`, in an array of structures on the heap.
// Second argument: 0 hangs. Otherwise it looks the same, but another thread that works releases all:
// "1": one of the team, "2": one of the team, through a pointer to a function, "3": one that is in
// no region. Third argument: the number of threads.
#include "truth.h"
#include <stdexcept>
#include <vector>

struct Account {
  long balance;
  omp_lock_t lock;
};

static std::vector<Account> accounts(256);
static omp_lock_t table[256];
static Account *book;
static int way, twin, size;
static volatile int never;
static volatile long amounts[2] = {-1, 1};
static void (*volatile release)(omp_lock_t *) = omp_unset_lock;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void deposit(Account &a, long amount) {
  omp_set_lock(&a.lock);
  if (amount < 0)
    throw std::runtime_error("negative"); // the way without a release
  a.balance += amount;
  omp_unset_lock(&a.lock);
}

__attribute__((noinline)) static int enter(Account *a, long amount) {
  omp_set_lock(&a->lock);
  if (amount < 0)
    return 0; // the way without a release
  a->balance += amount;
  omp_unset_lock(&a->lock);
  return 1;
}

__attribute__((noinline)) static void next(int turn) {
  if (turn == 0)
    return;
#pragma omp barrier
  TRUTH_WAIT("wait_lock", 0, 0);
}

__attribute__((noinline)) static void caught(int me) {
  for (int turn = 0; turn < 2; turn++) {
    next(turn);
    try {
      deposit(accounts[(me + turn) % size], amounts[turn]);
    } catch (const std::exception &) {
      usleep(1);
    }
  }
}

__attribute__((noinline)) static void skipped(int me) {
  for (int turn = 0; turn < 2; turn++) {
    next(turn);
    omp_set_lock(&table[(me + turn) % size]);
    if (amounts[turn] < 0)
      continue; // the way without a release
    usleep(1);
    omp_unset_lock(&table[(me + turn) % size]);
  }
}

__attribute__((noinline)) static void returned(int me) {
  for (int turn = 0; turn < 2; turn++) {
    next(turn);
    enter(&book[(me + turn) % size], amounts[turn]);
  }
}

static void *releases(void *unused) { // works, and releases all locks when it is done
  (void)unused;
  while (!never)
    pause();
  for (int i = 0; i < size; i++) {
    omp_lock_t *lock = way == 0 ? &accounts[i].lock : way == 1 ? &table[i] : &book[i].lock;
    if (twin == 2)
      release(lock);
    else
      omp_unset_lock(lock);
  }
  return NULL;
}

__attribute__((noinline)) static void through(void) {
  while (!never)
    pause();
  for (int i = 0; i < size; i++)
    release(&table[i]);
}

static void member(int me) {
  if (me == size) {
#pragma omp barrier
    if (twin == 2)
      through();
    else
      releases(NULL);
  } else if (way == 0) {
    caught(me);
  } else if (way == 1) {
    skipped(me);
  } else {
    returned(me);
  }
}

int main(int argc, char **argv) {
  pthread_t observer, other;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  twin = (int)truth_arg(argc, argv, 2, 0);
  size = (int)truth_arg(argc, argv, 3, 4);
  book = new Account[256];
  for (int i = 0; i < 256; i++) {
    omp_init_lock(&accounts[i].lock);
    omp_init_lock(&table[i]);
    omp_init_lock(&book[i].lock);
  }
  if (twin == 3)
    pthread_create(&other, NULL, releases, NULL);
  pthread_create(&observer, NULL, look, (void *)(long)size);
#pragma omp parallel num_threads(size + (twin == 1 || twin == 2))
  {
    member(omp_get_thread_num());
  }
  return 0;
}
