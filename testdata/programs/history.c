/* history.c: a program without a hang, for the recorder. With the argument 0, two threads acquire two locks in
 * different orders, one has more work than the others, all want one critical section, and tasks are empty.
 * With 1, a critical section protects the locks, all have equal work and their own locks, and tasks take time. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, TASKS = 400, STEPS = 12, VISITS = 32 };

static omp_lock_t debit, credit, own[THREADS];
static atomic_int now, sum;
static int healthy;

static void rest(long microseconds) {
  struct timespec t = {0, microseconds * 1000};
  nanosleep(&t, NULL);
}

__attribute__((noinline)) static void transfer(omp_lock_t *from, omp_lock_t *to) {
  omp_set_lock(from);
  omp_set_lock(to);
  atomic_fetch_add(&sum, 1);
  omp_unset_lock(to);
  omp_unset_lock(from);
}

/* orders makes the second thread start when the first is done, so that neither waits. */
static void orders(void) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    while (atomic_load(&now) != me) rest(100);
    if (healthy) {
#pragma omp critical(bank)
      transfer(me ? &credit : &debit, me ? &debit : &credit);
    } else if (me) {
      transfer(&credit, &debit);
    } else {
      transfer(&debit, &credit);
    }
    atomic_fetch_add(&now, 1);
  }
}

static void work(void) {
#pragma omp parallel num_threads(THREADS)
  for (int step = 0; step < STEPS; step++) {
#pragma omp for schedule(static, 1)
    for (int i = 0; i < THREADS; i++)
      if (healthy || i == THREADS - 1) rest(5000);
  }
}

static void visit(void) {
#pragma omp parallel num_threads(THREADS)
  {
#pragma omp barrier
    for (int i = 0; i < VISITS; i++) {
      if (healthy) {
        omp_lock_t *l = &own[omp_get_thread_num()];
        omp_set_lock(l);
        rest(500);
        omp_unset_lock(l);
      } else {
#pragma omp critical(ledger)
        rest(500);
        rest(100); /* GNU's locks are not fair */
      }
    }
  }
}

static void task(void) {
  double end = omp_get_wtime() + 20e-6;
  while (healthy && omp_get_wtime() < end) {
  }
  atomic_fetch_add(&sum, 1);
}

/* tasks are executed by the thread that creates them: the other one waits, and not at a barrier. */
static void tasks(void) {
  atomic_int over = 0;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
      task();
    }
#pragma omp taskwait
    atomic_store(&over, 1);
  } else {
    while (!atomic_load(&over)) rest(100);
  }
}

int main(int argc, char **argv) {
  healthy = argc > 1 && atoi(argv[1]);
  omp_init_lock(&debit);
  omp_init_lock(&credit);
  for (int i = 0; i < THREADS; i++) omp_init_lock(&own[i]);
  tasks();
  orders();
  visit();
  work();
  printf("READY\n");
  fflush(stdout);
  getchar();
  return 0;
}
