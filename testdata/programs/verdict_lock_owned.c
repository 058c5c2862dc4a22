/* A lock that records its owner, which left it on one path: "0" a nestable lock, "1" a mutex of the
 * C library; the owners are now at a barrier; "2" such a mutex that its owner locks again. A second
 * argument of 1: the same code, but it was released, and one more thread, which works, holds it. */
#include "truth.h"

static omp_nest_lock_t book;
static pthread_mutex_t page = PTHREAD_MUTEX_INITIALIZER;
static volatile int left;
static int way, healthy;
static volatile long entries;

static void *look(void *unused) {
  (void)unused;
  truth_await(2);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void entry(int keep) {
  omp_set_nest_lock(&book);
  if (keep) return;
  entries++;
  omp_unset_nest_lock(&book);
}

__attribute__((noinline)) static void paged(int keep) {
  pthread_mutex_lock(&page);
  if (keep) return;
  entries++;
  pthread_mutex_unlock(&page);
}

__attribute__((noinline)) static void enter(int keep) {
  if (way == 0)
    entry(keep);
  else
    paged(keep);
  entries++;
}

static void *work(void *unused) { /* holds the others' lock, and works */
  (void)unused;
  omp_set_nest_lock(&book);
  pthread_mutex_lock(&page);
  truth_set(&left);
  for (;;)
    pause();
  pthread_mutex_unlock(&page);
  omp_unset_nest_lock(&book);
  return NULL;
}

static void member(int me) {
  if (me == 1 && !healthy) {
    enter(1);
    truth_set(&left);
  }
  truth_until(&left);
  TRUTH_WAIT("", 0, 0);
  if (me == 0 || way == 2)
    enter(0);
#pragma omp barrier
  entries++;
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  omp_init_nest_lock(&book);
  if (healthy)
    pthread_create(&worker, NULL, work, NULL);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(2)
  member(omp_get_thread_num());
  return 0;
}
