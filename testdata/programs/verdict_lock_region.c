/* A thread has a lock while it forks a region whose threads acquire it: "0" before the only region, "1" in a region,
 * before an inner one of two threads, "2" before an inner one of one thread, "3" a mutex before an inner region.
 * A second argument of 1: it works before that region. */
#include "truth.h"

static omp_lock_t journal;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long way, works;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void enter(void) {
  TRUTH_WAIT("", 0, 0);
  omp_set_lock(&journal);
  omp_unset_lock(&journal);
}

__attribute__((noinline)) static void enter_mutex(void) {
  TRUTH_WAIT("", 0, 0);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void record(void) {
  if (works)
    TRUTH_HOLD("");
#pragma omp parallel num_threads(way == 2 ? 1 : 2)
  {
    if (way == 3)
      enter_mutex();
    else
      enter();
  }
}

__attribute__((noinline)) static void update(void) {
  omp_set_lock(&journal);
  record();
  omp_unset_lock(&journal);
}

__attribute__((noinline)) static void update_mutex(void) {
  pthread_mutex_lock(&mutex);
  record();
  pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  works = truth_arg(argc, argv, 2, 0);
  omp_init_lock(&journal);
  omp_set_max_active_levels(2);
  pthread_create(&observer, NULL, look, (void *)(works || way == 2 ? 1L : 2L));
  if (way == 0) {
    update();
    return 0;
  }
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    if (way == 3)
      update_mutex();
    else
      update();
  }
  return 0;
}
