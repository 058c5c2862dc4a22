/* All threads sleep, and the handler of a signal would wake them: "0" on a condition variable, "1" on a word of memory,
 * "2" one of them on a semaphore, and the other one on a condition variable that the first one would signal. A second
 * argument of 1: no handler is set, and they sleep for ever. */
#include "truth.h"
#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rang = PTHREAD_COND_INITIALIZER;
static sem_t bells;
static volatile int rings, word;
static long way;

static void ring(int number) {
  (void)number;
  rings++;
  if (way == 0)
    pthread_cond_broadcast(&rang);
  else if (way == 2)
    sem_post(&bells);
  word = 1;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

__attribute__((noinline)) static void announce(void) {
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(&rang);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void sleep_until_ring(void) {
  truth_watched(2);
  if (way == 2 && omp_get_thread_num() == 0) {
    sem_wait(&bells);
    announce();
    return;
  }
  if (way == 1) {
    while (!word)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return;
  }
  pthread_mutex_lock(&mutex);
  while (!rings)
    pthread_cond_wait(&rang, &mutex);
  pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
  truth_child(2);
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  sem_init(&bells, 0, 0);
  if (!truth_arg(argc, argv, 2, 0))
    signal(SIGUSR2, ring);
#pragma omp parallel num_threads(2)
  sleep_until_ring();
  return 0;
}
