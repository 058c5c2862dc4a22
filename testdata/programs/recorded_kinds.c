/* recorded_kinds.c: a short program with each kind of event for a recorder: iterations
 * that wait for others, critical sections with and without a name, a nestable lock, tasks
 * with dependences, and threads that start one after the other and end. It ends by itself. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { LIVES = 8, ITERATIONS = 6 };

static omp_nest_lock_t nested;
static volatile int sum;
static int cell[ITERATIONS + 1];

static void construct(void) {
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 1; i <= ITERATIONS; i++) {
#pragma omp ordered depend(sink : i - 1)
    cell[i] = cell[i - 1] + 1;
#pragma omp ordered depend(source)
  }
#pragma omp critical
  sum++;
#pragma omp critical(ledger)
  sum++;
  omp_set_nest_lock(&nested);
  omp_set_nest_lock(&nested);
  omp_unset_nest_lock(&nested);
  omp_unset_nest_lock(&nested);
#pragma omp single
  {
#pragma omp task depend(out : sum)
    sum = 1;
#pragma omp task depend(inout : sum)
    sum++;
#pragma omp taskwait
  }
}

static void *life(void *unused) {
#pragma omp parallel num_threads(1)
  construct();
  return unused;
}

int main(void) {
  omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(2)
  construct();
  for (int i = 0; i < LIVES; i++) {
    pthread_t t;
    pthread_create(&t, NULL, life, NULL);
    pthread_join(t, NULL);
  }
  omp_destroy_nest_lock(&nested);
  puts("READY");
  return 0;
}
