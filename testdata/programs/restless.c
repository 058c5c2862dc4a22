/* Repeats actions that make a process hard to stop, until its standard input is closed: teams and tasks,
 * storms of threads that end at once, children by fork, vfork and exec, signals that are queued to the
 * process and to single threads, and now and then exec of itself while its other threads run. It counts
 * every signal, checks every sum and every child's exit status, and prints the number of iterations at
 * the end. Arguments: its maximum life in seconds, then, after exec, the iterations so far. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEAM = 4, STORM = 24, SIGNALS = 32, AGAIN = 64, PATIENCE_S = 1200 };

extern char **environ;
static atomic_int over;
static atomic_long handled, values; /* received signals, and the sum of their values */

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  atomic_fetch_add(&values, info->si_value.sival_int);
  atomic_fetch_add(&handled, 1);
}

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  atomic_store(&over, 1);
  return unused;
}

static void wrong(const char *what, long iteration, long value) {
  fprintf(stderr, "wrong: %s is %ld in iteration %ld\n", what, value, iteration);
  _exit(1);
}

static int team(void) {
  int sum = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : sum)
  {
    sum += omp_get_thread_num() + 1;
#pragma omp single
    for (int i = 0; i < TEAM; i++) {
#pragma omp task
      usleep(1);
    }
  }
  return sum;
}

static void *brief(void *arg) {
  atomic_fetch_add((atomic_long *)arg, 1);
  return NULL;
}

/* Threads that end as soon as they start; half of them are detached. */
static void storm(long n) {
  pthread_t t[STORM];
  static atomic_long began;
  long before = atomic_load(&began);
  for (int i = 0; i < STORM; i++) {
    if (pthread_create(&t[i], NULL, brief, &began))
      wrong("pthread_create", n, errno);
    if (i % 2)
      pthread_detach(t[i]);
  }
  for (int i = 0; i < STORM; i += 2)
    pthread_join(t[i], NULL);
  for (time_t end = time(NULL) + PATIENCE_S; atomic_load(&began) - before != STORM; usleep(100))
    if (time(NULL) > end)
      wrong("threads that began", n, atomic_load(&began) - before);
}

/* Signals of real time are queued, each with its value: each must come exactly once. */
static void queue(long n) {
  long before = atomic_load(&handled), sum = atomic_load(&values), want = 0;
  for (int i = 1; i <= SIGNALS; i++) {
    union sigval v = {.sival_int = i};
    while (i % 2 ? sigqueue(getpid(), SIGRTMIN, v) : pthread_sigqueue(pthread_self(), SIGRTMIN + 1, v))
      if (errno != EAGAIN)
        wrong("sigqueue", n, errno);
    want += i;
  }
  for (time_t end = time(NULL) + PATIENCE_S; atomic_load(&handled) - before < SIGNALS; usleep(100))
    if (time(NULL) > end)
      wrong("signals that came", n, atomic_load(&handled) - before);
  if (atomic_load(&handled) - before != SIGNALS || atomic_load(&values) - sum != want)
    wrong("sum of the signals", n, atomic_load(&values) - sum);
}

static void await(const char *what, pid_t child, int status, long n) {
  int s;
  pid_t got;
  while ((got = waitpid(child, &s, 0)) < 0 && errno == EINTR)
    ;
  if (child < 0 || got != child || !WIFEXITED(s) || WEXITSTATUS(s) != status)
    wrong(what, n, got < 0 ? -errno : s);
}

static void children(char *exe, long n) {
  pid_t child = fork();
  if (!child)
    _exit(17);
  await("child of fork", child, 17, n);
  char *const args[] = {exe, "child", NULL};
  int err = posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
  if (err)
    wrong("posix_spawn", n, err);
  await("child of exec", child, TEAM * (TEAM + 1) / 2, n);
}

int main(int argc, char **argv) {
  struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  pthread_t reader;
  omp_set_dynamic(0);
  if (argc > 1 && !strcmp(argv[1], "child"))
    return team();
  long n = argc > 2 ? atol(argv[2]) : 0;
  if (!n)
    alarm(argc > 1 ? atoi(argv[1]) : 3600); /* it stays set over exec */
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  sigaction(SIGRTMIN, &act, NULL);
  sigaction(SIGRTMIN + 1, &act, NULL);
  if (pthread_create(&reader, NULL, watch_input, NULL))
    return 3;
  while (!atomic_load(&over)) {
    int sum = team();
    if (sum != TEAM * (TEAM + 1) / 2)
      wrong("team", n, sum);
    storm(n);
    queue(n);
    if (n % 8 == 0)
      children(argv[0], n);
    if (n++ == 8) {
      printf("READY\n");
      fflush(stdout);
    }
    if (n % AGAIN == 0) {
      char so_far[24];
      snprintf(so_far, sizeof so_far, "%ld", n);
      execl("/proc/self/exe", argv[0], argc > 1 ? argv[1] : "3600", so_far, NULL);
      wrong("exec", n, errno);
    }
  }
  printf("%ld iterations\n", n);
  return 0;
}
