/* Executes constructs of each kind, with work between and within them, until its standard input
 * is closed: loops of each schedule, sections, single, masked, reductions, ordered, doacross,
 * critical, atomic, contended locks of both kinds, tasks with and without dependences,
 * taskgroups, taskloops, taskyield, nested regions and serialized ones. Each round checks a sum. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { N = 24, CHAIN = 4 };

static omp_lock_t lock;
static omp_nest_lock_t nest;
static long sum;
static int ready[CHAIN + 1], cell[4];
static volatile int over;

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  over = 1;
  return unused;
}

__attribute__((noinline)) static void work(int n) {
  volatile int sink = 0;
  for (int i = 0; i < n * 150; i++)
    sink += i;
}

static void add(long n) {
#pragma omp atomic
  sum += n;
}

/* N in each of five loops. */
__attribute__((noinline)) static void loops(void) {
#pragma omp for
  for (int i = 0; i < N; i++)
    work(i % 5), add(1);
#pragma omp for schedule(dynamic, 2)
  for (int i = 0; i < N; i++)
    work(i % 5), add(1);
#pragma omp for schedule(guided) nowait
  for (int i = 0; i < N; i++)
    work(i % 3), add(1);
#pragma omp for schedule(static, 1) collapse(2)
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < N / 4; k++)
      work(k), add(1);
#pragma omp for schedule(runtime)
  for (int i = 0; i < N; i++)
    work(2), add(1);
}

/* 3 + 1 + 1 + 1. */
__attribute__((noinline)) static void blocks(void) {
#pragma omp sections
  {
#pragma omp section
    work(4), add(1);
#pragma omp section
    work(1), add(1);
#pragma omp section
    work(9), add(1);
  }
#pragma omp single
  work(6), add(1);
#pragma omp single nowait
  work(6), add(1);
#pragma omp barrier
#pragma omp master
  work(5), add(1);
#pragma omp barrier
}

/* N + CHAIN. */
__attribute__((noinline)) static void orders(void) {
#pragma omp for ordered schedule(static, 1)
  for (int i = 0; i < N; i++) {
    work(2);
#pragma omp ordered
    {
      work(1);
      sum++;
    }
  }
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 1; i <= CHAIN; i++) {
    work(1);
#pragma omp ordered depend(sink : i - 1)
    ready[i] = i == 1 ? 1 : ready[i - 1] + 1;
    work(1);
#pragma omp ordered depend(source)
  }
#pragma omp single
  sum += ready[CHAIN];
}

/* 3 of each thread. */
__attribute__((noinline)) static void excluded(void) {
#pragma omp critical(one)
  {
    work(2);
    add(1);
#pragma omp critical(two)
    work(2);
  }
  omp_set_lock(&lock);
  work(3);
  add(1);
  omp_unset_lock(&lock);
  omp_set_nest_lock(&nest);
  omp_set_nest_lock(&nest);
  work(2);
  add(1);
  omp_unset_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
#pragma omp barrier
}

static void tree(int depth) {
  if (depth == 0) {
    work(2);
    add(1);
    return;
  }
#pragma omp task
  tree(depth - 1);
#pragma omp task if (depth > 1)
  tree(depth - 1);
  work(1);
#pragma omp taskwait
}

/* N + 16 + N + 8 + 1. */
__attribute__((noinline)) static void tasks(void) {
#pragma omp single
  {
    for (int i = 0; i < N; i++) {
#pragma omp task
      work(i % 7), add(1);
    }
    tree(4);
#pragma omp taskgroup
    {
      for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : cell[i % 4])
        {
          work(3);
#pragma omp taskyield
          add(1);
        }
      }
    }
#pragma omp taskloop grainsize(2)
    for (int i = 0; i < 8; i++)
      work(4), add(1);
#pragma omp task untied
    {
#pragma omp task
      work(5);
#pragma omp taskwait
      add(1);
    }
  }
}

/* 10 of each thread. */
__attribute__((noinline)) static void nested(void) {
  long mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
  {
    work(3);
    mine++;
#pragma omp barrier
#pragma omp for
    for (int i = 0; i < 6; i++)
      work(2), mine++;
  }
#pragma omp parallel num_threads(1) reduction(+ : mine)
  {
    work(2);
    mine++;
#pragma omp critical(one)
    work(1);
  }
  add(mine + 1);
}

/* expected sum of one round with a number of threads. */
static long expected(int threads) {
  return 5 * N + 6 + N + CHAIN + 3 * threads + N + 16 + N + 8 + 1 + 10 * threads + N + N;
}

static int round_of(void) {
  long reduced = 0;
  int threads = 0;
  sum = 0;
#pragma omp parallel
  {
#pragma omp single
    threads = omp_get_num_threads();
    loops();
    blocks();
    orders();
    excluded();
    tasks();
    nested();
  }
#pragma omp parallel for reduction(+ : reduced) schedule(dynamic)
  for (int i = 0; i < N; i++)
    work(3), reduced++;
  sum += reduced;
  work(20);
  if (omp_get_max_threads() > 2) {
    reduced = 0;
#pragma omp parallel for reduction(+ : reduced) num_threads(2)
    for (int i = 0; i < N; i++)
      work(2), reduced++;
  }
  sum += reduced;
  return sum == expected(threads);
}

int main(int argc, char **argv) {
  pthread_t reader;
  long n = 0;
  alarm(argc > 1 ? atoi(argv[1]) : 3600);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  if (pthread_create(&reader, NULL, watch_input, NULL))
    return 3;
  while (!over) {
    if (!round_of()) {
      fprintf(stderr, "wrong: the sum is %ld in round %ld\n", sum, n);
      _exit(1);
    }
    if (n++ == 1) {
      printf("READY\n");
      fflush(stdout);
    }
  }
  printf("%ld iterations\n", n);
  return 0;
}
