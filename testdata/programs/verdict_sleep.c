/* Thread 1 sleeps in one of several ways, and the others wait for it: with "0"
 * for its critical section, with "1" for a pthread mutex, with "2" at a barrier.
 * The second number selects the way. It is not a hang: the sleep ends some day, or a signal or
 * another process ends it. */
#define _GNU_SOURCE /* splice, tee */
#include "truth.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>

enum { THREADS = 4, LONG_S = 100000 };

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static volatile int inside, sleeper;

static void *look(void *n) {
  static const int calls[] = {SYS_clock_nanosleep, SYS_nanosleep, SYS_pselect6, SYS_select, SYS_poll, SYS_ppoll,
    SYS_pause, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_tee, SYS_splice,
    SYS_futex};
  char seen[sizeof calls / sizeof *calls][128] = {{0}};
  struct timespec pause = {0, 1000000};
  int there = 0;
  truth_await((int)(long)n);
  while (!there) {
    nanosleep(&pause, NULL);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
      there += truth_still(sleeper, calls[i], seen[i], sizeof seen[i]);
  }
  truth_end();
  return NULL;
}

/* wait_outside sleeps until a signal or another process ends the call. */
static void wait_outside(int way) {
  int from[2], to[2], number;
  sigset_t set;
  struct timespec t;
  sigemptyset(&set);
  switch (way) {
  case 7:
    pause();
    break;
  case 8:
    sigsuspend(&set);
    break;
  case 9:
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigwait(&set, &number);
    break;
  case 10:
    if (!pipe(from) && !pipe(to))
      tee(from[0], to[1], 1, 0);
    break;
  case 12:
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += LONG_S;
    pthread_mutex_lock(&stock);
    pthread_cond_timedwait(&arrived, &stock, &t);
    break;
  default:
    if (!pipe(from) && !pipe(to))
      splice(from[0], NULL, to[1], NULL, 1, 0);
  }
}

__attribute__((noinline)) static void rest(int way) {
  struct timespec t = {LONG_S, 0}, left;
  struct timeval v = {LONG_S, 0};
  sleeper = truth_tid();
  truth_set(&inside);
  switch (way) {
  case 0:
    sleep(LONG_S);
    break;
  case 1:
    usleep(2000000000);
    break;
  case 2:
    nanosleep(&t, &left);
    break;
  case 3:
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += LONG_S;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    break;
  case 4:
    select(0, NULL, NULL, NULL, &v);
    break;
  case 5:
    poll(NULL, 0, LONG_S * 1000);
    break;
  case 6:
    poll(NULL, 0, -1);
    break;
  default:
    wait_outside(way);
  }
  _exit(4);
}

__attribute__((noinline)) static void count(int way) {
  pthread_mutex_lock(&stock);
  rest(way);
  pthread_mutex_unlock(&stock);
}

__attribute__((noinline)) static void book(int way) {
#pragma omp critical(transfer)
  rest(way);
}

int main(int argc, char **argv) {
  pthread_t observer;
  long what = truth_arg(argc, argv, 1, 0);
  int way = (int)truth_arg(argc, argv, 2, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)(THREADS - 1));
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      if (what == 0) {
        book(way);
      } else if (what == 1) {
        count(way);
      } else {
        rest(way);
      }
    }
    truth_until(&inside);
    if (what == 0) {
      TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(transfer)
      TRUTH_NEVER();
    } else if (what == 1) {
      TRUTH_SLEEP("wait_mutex", 0, __LINE__ + 1);
      pthread_mutex_lock(&stock);
      TRUTH_NEVER();
    }
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
