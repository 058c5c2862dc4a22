/* Locks that functions take through a pointer in a variable. "0": thread 1 takes one that it holds; the others will
 * come to the same function. "1": thread 0 holds one and joins a thread that needs it. "2": that thread tries it in a
 * loop. "3": thread 1 waits for a lock until thread 0 releases it, which calls another function by the pointer. With a
 * second argument of 1, and always with "3", the thread that is to release the lock sleeps, which is no hang.
 *
 * The threads are those of a child; its parent waits. */
#include "truth.h"
#include <sched.h>

static omp_lock_t page;
static int way, healthy, watched;
static volatile int held;

static void note(omp_lock_t *lock) { held += lock != NULL; }

void (*enter)(omp_lock_t *) = omp_set_lock;

__attribute__((noinline)) static int renew(int n) {
  enter(&page);
  n++;
  omp_unset_lock(&page);
  return n;
}

static void *need(void *x) {
  truth_until(&held);
  truth_watched(watched);
  if (way == 2)
    while (!omp_test_lock(&page))
      sched_yield();
  else
    enter(&page);
  omp_unset_lock(&page);
  return x;
}

/* hold takes the lock, and releases it after the end of another thread, or after a signal. */
__attribute__((noinline)) static void hold(pthread_t other) {
  omp_set_lock(&page);
  truth_set(&held);
  if (healthy) {
    pause();
  } else {
    truth_watched(watched);
    pthread_join(other, NULL);
  }
  omp_unset_lock(&page);
}

__attribute__((noinline)) static void again(int me) {
  if (me != 1) {
    truth_watched(watched);
    return;
  }
  omp_set_lock(&page);
  truth_watched(watched);
  renew(me);
  omp_unset_lock(&page);
}

/* once is the healthy twin of again: thread 0 holds the lock. */
__attribute__((noinline)) static void once(int me) {
  if (me == 0) {
    enter(&page);
    truth_set(&held);
    pause();
    omp_unset_lock(&page);
    return;
  }
  truth_until(&held);
  truth_watched(watched);
  if (me == 1)
    renew(me);
}

__attribute__((noinline)) static void handed(int me) {
  if (me == 0) {
    pause();
    renew(me);
    return;
  }
  truth_watched(watched);
  if (me == 1) {
    omp_set_lock(&page);
    omp_set_lock(&page);
    omp_unset_lock(&page);
  }
}

int main(int argc, char **argv) {
  pthread_t other;
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = way == 3 || truth_arg(argc, argv, 2, 0);
  watched = healthy ? 2 : 3;
  truth_child(watched);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&page);
  if (way == 3)
    enter = note;
  if (way == 1 || way == 2)
    pthread_create(&other, NULL, need, NULL);
#pragma omp parallel num_threads(way == 1 || way == 2 ? 2 : 3)
  {
    int me = omp_get_thread_num();
    if (way == 0 && healthy)
      once(me);
    else if (way == 0)
      again(me);
    else if (way == 3)
      handed(me);
    else if (me == 0)
      hold(other);
    else
      truth_watched(watched);
#pragma omp barrier
    renew(me);
  }
  return 0;
}
