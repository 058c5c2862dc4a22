/* Thread 1 has acquired a lock by a loop of tries, and needs it again. "0": it tries again in a loop; "1": it waits for
 * the lock; "2": a handler of its own signal tries in a loop, and the lock was acquired by a wait; "3": the handler
 * waits. "4": threads 0 and 1 have a lock each by a loop of tries, and wait for the other's. With a second argument of
 * 1, there is no hang: a loop also ends when a handler sets a flag, or thread 0 has the lock, and sleeps.
 *
 * The threads are those of a child; its parent waits. */
#include "truth.h"
#include <sched.h>
#include <signal.h>

static omp_lock_t gate, ends[2];
static int way, healthy;
static volatile int held[2];
static volatile sig_atomic_t stop, sum;

static void note(int signal) { stop = signal; }

__attribute__((noinline)) static void again(void) {
  if (healthy)
    while (!omp_test_lock(&gate) && !stop)
      sched_yield();
  else
    while (!omp_test_lock(&gate))
      sched_yield();
  sum++;
  omp_unset_lock(&gate);
}

__attribute__((noinline)) static void enter(void) {
  omp_set_lock(&gate);
  sum++;
  omp_unset_lock(&gate);
}

static void retry(int signal) { again(); }
static void reenter(int signal) { enter(); }

__attribute__((noinline)) static void one(void) {
  if (way == 2) {
    omp_set_lock(&gate);
    truth_watched(1);
    raise(SIGUSR1);
  } else {
    while (!omp_test_lock(&gate))
      sched_yield();
    truth_watched(1);
    if (way == 0)
      again();
    else if (way == 1)
      enter();
    else
      raise(SIGUSR2);
  }
  omp_unset_lock(&gate);
}

__attribute__((noinline)) static void both(int me) {
  while (!omp_test_lock(&ends[me]))
    sched_yield();
  truth_set(&held[me]);
  truth_until(&held[1 - me]);
  if (healthy && me == 0)
    for (;;)
      pause();
  truth_watched(2 - healthy);
  omp_set_lock(&ends[1 - me]);
  sum++;
  omp_unset_lock(&ends[1 - me]);
  omp_unset_lock(&ends[me]);
}

/* keep has the lock for thread 1 while it sleeps. */
__attribute__((noinline)) static void keep(void) {
  omp_set_lock(&gate);
  truth_set(&held[0]);
  for (;;)
    pause();
  omp_unset_lock(&gate);
}

int main(int argc, char **argv) {
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  truth_child(way == 4 && !healthy ? 2 : 1);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&gate);
  omp_init_lock(&ends[0]);
  omp_init_lock(&ends[1]);
  signal(SIGHUP, note);
  signal(SIGUSR1, retry);
  signal(SIGUSR2, reenter);
  int kept = healthy && (way == 1 || way == 3);
#pragma omp parallel num_threads(2)
  if (way == 4) {
    both(omp_get_thread_num());
  } else if (omp_get_thread_num() == 0) {
    if (kept)
      keep();
  } else if (kept) {
    truth_until(&held[0]);
    truth_watched(1);
    enter();
  } else {
    one();
  }
  return 0;
}
