/* Forks teams in a tight loop, with nested regions and tasks, until its standard
 * input is closed. It checks every iteration, and prints their number at the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TEAM = 4, INNER = 2, TASKS = 6 };

static volatile int over;

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  over = 1;
  return unused;
}

static void wrong(const char *what, long iteration, int value) {
  fprintf(stderr, "wrong: %s is %d in iteration %ld\n", what, value, iteration);
  _exit(1);
}

__attribute__((noinline)) static int flat(void) {
  int sum = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : sum)
  sum += omp_get_thread_num() + 1;
  return sum;
}

__attribute__((noinline)) static int nested(void) {
  int sum = 0;
#pragma omp parallel num_threads(INNER) reduction(+ : sum)
  {
    int inner = 0;
#pragma omp parallel num_threads(INNER) reduction(+ : inner)
    inner += omp_get_level();
    sum += inner;
  }
  return sum;
}

__attribute__((noinline)) static int tasks(void) {
  int sum = 0;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
  for (int i = 0; i < TASKS; i++) {
#pragma omp task
#pragma omp atomic
    sum += i;
  }
  return sum;
}

int main(int argc, char **argv) {
  pthread_t reader;
  long n = 0;
  int sum;
  alarm(argc > 1 ? atoi(argv[1]) : 3600);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  if (pthread_create(&reader, NULL, watch_input, NULL))
    return 3;
  while (!over) {
    if ((sum = flat()) != TEAM * (TEAM + 1) / 2)
      wrong("flat", n, sum);
    if (n % 8 == 0 && (sum = nested()) != 2 * INNER * INNER)
      wrong("nested", n, sum);
    if (n % 4 == 0 && (sum = tasks()) != TASKS * (TASKS - 1) / 2)
      wrong("tasks", n, sum);
    if (n++ == 8) {
      printf("READY\n");
      fflush(stdout);
    }
  }
  printf("%ld iterations\n", n);
  return 0;
}
