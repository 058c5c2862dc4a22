/* A signal handler waits for a lock of the interrupted code: "0" a mutex, "1" a lock of OpenMP.
 * A second argument of 1: another thread holds it, and works.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static pthread_mutex_t purse = PTHREAD_MUTEX_INITIALIZER;
static omp_lock_t till;
static volatile int taken, cents;
static int way, other;

static void take(void) {
  if (way == 0)
    pthread_mutex_lock(&purse);
  else
    omp_set_lock(&till);
}

static void give(void) {
  if (way == 0)
    pthread_mutex_unlock(&purse);
  else
    omp_unset_lock(&till);
}

static void count(int signal) {
  (void)signal;
  truth_watched(other ? 1 : 2);
  if (way == 0)
    pthread_mutex_lock(&purse);
  else
    omp_set_lock(&till);
  cents++;
  give();
}

__attribute__((noinline)) static void pay(void) {
  if (!other)
    take();
  raise(SIGUSR1);
  cents += 2;
  if (!other)
    give();
}

__attribute__((noinline)) static void work(int me) {
  if (me == 0) {
    truth_until(&taken);
    pay();
  }
  if (other)
    take();
  truth_set(&taken);
  if (other)
    for (;;)
      pause(); /* works on, for ever */
  truth_watched(2);
}

int main(int argc, char **argv) {
  way = (int)truth_arg(argc, argv, 1, 0);
  other = (int)truth_arg(argc, argv, 2, 0);
  truth_child(other ? 1 : 2);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&till);
  signal(SIGUSR1, count);
#pragma omp parallel num_threads(2)
  work(omp_get_thread_num());
  return 0;
}
