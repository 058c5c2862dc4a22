/* A lock that a longjmp left, behind a condition and a barrier: thread 0 acquires the lock, leaves its code by a
 * longjmp and waits at a barrier. Thread 1 would signal the condition of thread 2, but waits for the lock before that.
 * Thread 0 would signal it, too, after the barrier. "0", "1": healthy, the longjmp leads to a release, and thread 1 has
 * the lock and works. "1": the condition is signalled by thread 0 alone: two mistakes. "2": thread 0 would release the
 * lock after the barrier. */
#include "truth.h"
#include <setjmp.h>

static omp_lock_t book;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static volatile int left, is_posted;
static int n, healthy;
static __thread jmp_buf out;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void fail(void) { longjmp(out, 1); }

__attribute__((noinline)) static void entry(int fails) {
  omp_set_lock(&book);
  n++;
  if (fails)
    fail();
  if (healthy && left)
    truth_hold("work_parallel", 1);
  omp_unset_lock(&book);
}

__attribute__((noinline)) static void post(void) {
  pthread_mutex_lock(&mutex);
  is_posted = 1;
  pthread_cond_signal(&posted);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void await(void) {
  pthread_mutex_lock(&mutex);
  while (!is_posted)
    pthread_cond_wait(&posted, &mutex);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void leave(void) {
  if (setjmp(out) == 0)
    entry(1);
  else if (healthy)
    omp_unset_lock(&book);
  truth_set(&left);
}

/* The ways are functions of their own: a branch on a variable may be taken by every thread. */
#define TEAM(name, then, last)                                                                              \
  __attribute__((noinline)) static void name(void) {                                                        \
    switch (omp_get_thread_num()) {                                                                         \
    case 0:                                                                                                 \
      leave();                                                                                              \
      TRUTH_WAIT("wait_barrier_explicit", 0, 0);                                                            \
      break;                                                                                                \
    case 1:                                                                                                 \
      truth_until(&left);                                                                                   \
      TRUTH_WAIT("wait_lock", &book, 0);                                                                    \
      entry(0);                                                                                             \
      then;                                                                                                 \
      break;                                                                                                \
    default:                                                                                                \
      truth_until(&left);                                                                                   \
      TRUTH_WAIT("wait_condition", 0, 0);                                                                   \
      await();                                                                                              \
    }                                                                                                       \
    _Pragma("omp barrier") if (omp_get_thread_num() == 0) {                                                 \
      last;                                                                                                 \
      post();                                                                                               \
    }                                                                                                       \
  }

TEAM(both_post, post(), (void)0)
TEAM(one_posts, (void)0, (void)0)
TEAM(late_release, post(), omp_unset_lock(&book))

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&book);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    if (way == 0)
      both_post();
    else if (way == 1)
      one_posts();
    else
      late_release();
  }
  return 0;
}
