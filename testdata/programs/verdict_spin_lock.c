/* Threads wait for spin locks of the C library: "0" two threads acquire two of them in different orders, "1" a thread
 * acquires one again, in a function that it calls, "2" a thread holds one at a barrier that the other does not reach.
 * A second argument of 1: the holder works. */
#include "truth.h"

static pthread_spinlock_t ready, sent;
static int way, works, have;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

/* meet returns when both threads are here. */
static void meet(void) {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(1000);
}

__attribute__((noinline)) static void send(void) {
  pthread_spin_lock(&ready);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("", 0, 0);
  pthread_spin_lock(&sent);
  have++;
  pthread_spin_unlock(&sent);
  pthread_spin_unlock(&ready);
}

__attribute__((noinline)) static void receive(void) {
  pthread_spin_lock(&sent);
  meet();
  TRUTH_WAIT("", 0, 0);
  pthread_spin_lock(&ready);
  have++;
  pthread_spin_unlock(&ready);
  pthread_spin_unlock(&sent);
}

__attribute__((noinline)) static void count(void) {
  pthread_spin_lock(&ready);
  have++;
  pthread_spin_unlock(&ready);
}

__attribute__((noinline)) static void add(void) {
  pthread_spin_lock(&ready);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("", 0, 0);
  count();
  have++;
  pthread_spin_unlock(&ready);
}

__attribute__((noinline)) static void follow(void) {
  meet();
  if (works)
    TRUTH_WAIT("", 0, 0);
  else
    TRUTH_SLEEP("", 0, 0);
  if (works)
    count();
}

__attribute__((noinline)) static void post(void) {
  pthread_spin_lock(&sent);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
#pragma omp barrier
  pthread_spin_unlock(&sent);
}

__attribute__((noinline)) static void collect(void) {
  meet();
  TRUTH_WAIT("", 0, 0);
  pthread_spin_lock(&sent);
  pthread_spin_unlock(&sent);
#pragma omp barrier
  have++;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  pthread_spin_init(&ready, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&sent, PTHREAD_PROCESS_PRIVATE);
  pthread_create(&observer, NULL, look, (void *)2L);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    if (way == 0)
      me == 0 ? send() : receive();
    else if (way == 1)
      me == 1 ? add() : follow();
    else
      me == 0 ? post() : collect();
  }
  return 0;
}
