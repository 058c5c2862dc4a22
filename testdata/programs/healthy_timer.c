/* All threads sleep, and the function of a timer (SIGEV_THREAD) would wake them: "0" on a condition variable,
 * "1" on a semaphore, "2" in a taskwait for a detached task. A second argument of 1: no timer is made, and
 * they sleep for ever. The C library has a thread for its timers, which starts one for each call. */
#include "truth.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t expired = PTHREAD_COND_INITIALIZER;
static sem_t ticks;
static omp_event_handle_t event;
static volatile int ran;
static int passed;
static long way;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

static void expire(union sigval value) {
  if (value.sival_int == 0) {
    pthread_mutex_lock(&mutex);
    passed = 1;
    pthread_cond_broadcast(&expired);
    pthread_mutex_unlock(&mutex);
  } else if (value.sival_int == 1) {
    sem_post(&ticks);
  } else {
    omp_fulfill_event(event);
  }
}

static void set_timer(void) {
  struct sigevent notice = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire};
  struct itimerspec at = {.it_value = {TRUTH_LIMIT_S, 0}};
  timer_t timer;
  notice.sigev_value.sival_int = (int)way;
  if (timer_create(CLOCK_MONOTONIC, &notice, &timer) != 0 || timer_settime(timer, 0, &at, NULL) != 0)
    _exit(3);
}

__attribute__((noinline)) static void sleep_until_expired(void) {
  TRUTH_SLEEP("work_parallel", 0, 0);
  if (way == 1) {
    sem_wait(&ticks);
    return;
  }
  pthread_mutex_lock(&mutex);
  while (!passed)
    pthread_cond_wait(&expired, &mutex);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void request(void) {
  omp_event_handle_t done;
#pragma omp task detach(done)
  truth_set(&ran);
  event = done;
  truth_until(&ran); /* the other thread has run it */
  TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  sem_init(&ticks, 0, 0);
  if (!truth_arg(argc, argv, 2, 0))
    set_timer();
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    if (way != 2)
      sleep_until_expired();
    else if (omp_get_thread_num() == 0)
      request();
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  }
  return 0;
}
