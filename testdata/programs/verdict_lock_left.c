/* A lock that one path leaves without a release, where not only the waiting threads'
 * code matters. "0": it was left in a task, and tasks that acquire it are queued.
 * "1": by a thread that is now at a barrier; the others acquire the lock before that
 * barrier. "2": a critical section that was left by a longjmp. "3": an untied task
 * acquires it, and the others wait for the task at a barrier. A second argument of
 * 1: the same code, but it was released, and one more thread, which works, holds it. */
#include "truth.h"
#include <setjmp.h>

static omp_lock_t book;
static volatile int left, begun;
static int n, way, healthy;
static __thread jmp_buf out;

static void *look(void *threads) {
  if (way == 3)
    truth_until(&begun);
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void entry(int keep) {
  omp_set_lock(&book);
  n++;
  if (!keep)
    omp_unset_lock(&book); /* the path without it */
}

__attribute__((noinline)) static void fail(void) { longjmp(out, 1); }

__attribute__((noinline)) static void section(int fails) {
#pragma omp critical(ledger)
  {
    n++;
    if (fails)
      fail();
    n++;
  }
}

static void *work(void *unused) { /* holds the others' lock, and works */
  (void)unused;
  if (way == 2) {
#pragma omp critical(ledger)
    {
      truth_set(&left);
      while (healthy)
        pause();
    }
    return NULL;
  }
  omp_set_lock(&book);
  truth_set(&left);
  while (healthy)
    pause();
  omp_unset_lock(&book);
  return NULL;
}

static void tasks(void) {
#pragma omp single
  {
    if (!healthy) {
      entry(1);
      truth_set(&left);
    }
    for (int i = 0; i < 8; i++) {
#pragma omp task
      {
        truth_until(&left);
        TRUTH_WAIT("wait_lock", &book, 0);
        entry(0);
      }
    }
  }
}

static void barrier(void) {
  int leaves = omp_get_thread_num() == 1 && !healthy;
  if (!leaves)
    truth_until(&left);
  if (!leaves)
    TRUTH_WAIT("wait_lock", &book, 0);
  entry(leaves);
  truth_set(&left);
  TRUTH_WAIT("wait_barrier_explicit", 0, 0);
#pragma omp barrier
  entry(0);
}

static void untied(void) {
  TRUTH_WAIT("", 0, 0);
#pragma omp single
  {
    if (!healthy) {
      entry(1);
      truth_set(&left);
    }
#pragma omp task untied
    {
      truth_until(&left);
      TRUTH_WAIT("wait_lock", &book, 0);
      truth_set(&begun);
      entry(0);
    }
  }
}

static void sections(void) {
  int leaves = omp_get_thread_num() == 1 && !healthy;
  if (leaves && setjmp(out) == 0)
    section(1);
  if (leaves)
    truth_set(&left);
  truth_until(&left);
  TRUTH_WAIT("wait_critical", 0, 0);
  section(0);
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&book);
  if (healthy)
    pthread_create(&worker, NULL, work, NULL);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3)
  {
    if (way == 0)
      tasks();
    else if (way == 1)
      barrier();
    else if (way == 2)
      sections();
    else
      untied();
  }
  return 0;
}
