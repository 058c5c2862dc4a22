/* A thread crashes because it passes a null pointer to a library: to the OpenMP runtime for a lock
 * (0), to the C library (1), to a function that ends in such a call (2), to C++'s library with its
 * code in the program (3), or in the library (4), to its own function that the C library calls (5),
 * and to the C library in the last call of the region (6). Or two threads free the same memory, which
 * the C library detects when they end (7), or an exception of C++'s library leaves the region (8). */
#include "truth.h"
#include <map>
#include <vector>
#include <string>
#include <cstring>

struct account {
  omp_lock_t *lock;
  char *owner;
  std::map<int, long> *entries;
  std::string *note;
};

static account *volatile accounts;
static volatile size_t sink;

__attribute__((noinline)) static size_t owner_length(const account *a) { return strlen(a->owner); }

extern "C" int by_entry(const void *a, const void *b) {
  long x = **(long *const *)a;
  return x > **(long *const *)b;
}

__attribute__((noinline)) static void book(account *a, int what) {
  long *values[2] = {nullptr, nullptr};
  switch (what) {
  case 0:
    omp_set_lock(a->lock);
    break;
  case 1:
    sink += strlen(a->owner) + 1;
    break;
  case 2:
    sink += owner_length(a) + 1;
    break;
  case 3:
    (*a->entries)[what] += what;
    break;
  case 4:
    a->note->assign("booked in the account that there is none of");
    break;
  case 5:
    qsort(values, 2, sizeof values[0], by_entry);
    break;
  case 8:
    sink += std::vector<int>(2).at(a[-1].owner == nullptr ? 7 : 0);
    break;
  }
  sink = sink + 1;
}

static void *memory;

static void *freeing(void *) {
  free(memory);
  return nullptr;
}

/* The last thread to free it finds it in the C library's list of blocks freed by a thread that has ended. */
__attribute__((noinline)) static void free_twice(void) {
  memory = malloc(40);
  truth_write(1);
  for (int i = 0; i < 2; i++) {
    pthread_t t;
    pthread_create(&t, nullptr, freeing, nullptr);
    pthread_join(t, nullptr);
  }
}

int main(int argc, char **argv) {
  int what = (int)truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  accounts = (account *)calloc(2, sizeof(account));
  if (what == 7)
    free_twice();
  if (what == 6)
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      truth_hold("work_parallel", 1);
    truth_write(1);
    memset(accounts[1].owner, 0, 256 + sink);
  }
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_write(1);
      book(accounts + 1, what);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
