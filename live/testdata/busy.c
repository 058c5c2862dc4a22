/* Threads that compute without end and check their results, under a rain of
 * queued signals whose values are added up. A line on the standard input ends
 * it; it then prints OK, or what went wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 4, CHUNK = 20000 };

volatile unsigned long progress; /* chunks that were computed */
static volatile int ending;
static unsigned long expected, wrong, started;
static unsigned long sent_count, sent_sum, got_count, got_sum;

static unsigned long chunk(void) {
  unsigned long x = 88172645463325252ul, sum = 0;
  double d = 1;
  for (int i = 0; i < CHUNK; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    sum += x;
    d = d * 1.0000001 + 1e-9;
  }
  return sum + (unsigned long)(d * 1e6);
}

static void *compute(void *arg) {
  __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
  while (!ending) {
    if (chunk() != expected)
      __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&progress, 1, __ATOMIC_SEQ_CST);
  }
  return arg;
}

static void on_signal(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  __atomic_fetch_add(&got_count, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&got_sum, (unsigned long)info->si_value.sival_int, __ATOMIC_SEQ_CST);
}

static void *rain(void *arg) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; !ending; i = i % 1000000 + 1) {
    struct timespec t = {0, 100000};
    if (sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0) {
      sent_count++;
      sent_sum += (unsigned long)i;
    }
    nanosleep(&t, NULL);
  }
  return arg;
}

int main(void) {
  pthread_t t[THREADS], r;
  struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  char line[16];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  expected = chunk();
  sigaction(SIGRTMIN, &sa, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&t[i], NULL, compute, NULL);
  pthread_create(&r, NULL, rain, NULL);
  while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < THREADS)
    usleep(100);
  puts("READY");
  fflush(stdout);
  if (read(0, line, sizeof line) < 0)
    return printf("read: %s\n", strerror(errno)), 1;
  ending = 1;
  pthread_join(r, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_join(t[i], NULL);
  if (wrong || got_count != sent_count || got_sum != sent_sum)
    return printf("%lu wrong results; %lu signals of %lu, sum %lu of %lu\n", wrong, got_count, sent_count, got_sum, sent_sum), 1;
  printf("OK\n");
  return 0;
}
