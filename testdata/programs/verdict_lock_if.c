/* A thread acquires a lock under an if, and again in a function that it calls: "0" the condition is the same as for
 * the release, "1" its else acquires a mutex. A second argument of 1: it works in place of the call. */
#include "truth.h"

static omp_lock_t account;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static long way, works, locking, total;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void add(long amount) {
  TRUTH_WAIT("", 0, 0);
  if (locking)
    omp_set_lock(&account);
  total += amount;
  if (locking)
    omp_unset_lock(&account);
}

__attribute__((noinline)) static void once(void) {
  if (locking)
    omp_set_lock(&account);
  total++;
  if (works)
    TRUTH_HOLD("");
  add(1);
  if (locking)
    omp_unset_lock(&account);
}

__attribute__((noinline)) static void either(void) {
  if (locking)
    omp_set_lock(&account);
  else
    pthread_mutex_lock(&other);
  total++;
  if (works)
    TRUTH_HOLD("");
  add(1);
  if (locking)
    omp_unset_lock(&account);
  else
    pthread_mutex_unlock(&other);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  works = truth_arg(argc, argv, 2, 0);
  locking = truth_arg(argc, argv, 3, 1);
  omp_init_lock(&account);
  pthread_create(&observer, NULL, look, (void *)1);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    if (way)
      either();
    else
      once();
  }
  return 0;
}
