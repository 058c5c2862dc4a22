/* stress.c: threads that write records as fast as they can, with signal handlers that write too. Each record has its own
 * number in a and its complement in b. At the end, each thread prints the numbers of its written records and of its
 * lost events. Arguments: threads, records of each, unless SIGUSR1 arrives before.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder.h"

struct worker {
  pthread_t thread;
  uint64_t records, written, failed, handler_written, handler_failed;
};

static __thread struct worker *volatile me;
static pthread_barrier_t start;
static volatile sig_atomic_t enough;

static void stop(int number) { enough = number; }

static void put(uint32_t n, uint64_t *written, uint64_t *failed) {
  struct slot s;
  if (!slot_open(&s, false, n)) {
    ++*failed;
    return;
  }
  slot_first(&s, 1, 0, 0, 0, s.at, ~s.at);
  for (uint32_t i = 1; i < n; i++) slot_more(&s, i, 0, s.time, s.at + i, ~(s.at + i));
  slot_close(&s);
  *written += n;
}

static void handler(int number) {
  struct worker *w = me;
  (void)number;
  if (w != NULL) put(2, &w->handler_written, &w->handler_failed);
}

static void *work(void *p) {
  struct worker *w = p;
  pthread_barrier_wait(&start);
  put(1, &w->written, &w->failed);
  me = w;
  for (uint32_t n = 1; w->written < w->records && !enough; n = n % 16 + 1) put(n, &w->written, &w->failed);
  me = NULL;
  pthread_barrier_wait(&start);
  for (;;) pause();
}

int main(int argc, char **argv) {
  int n = argc > 2 ? atoi(argv[1]) : 0;
  if (n < 1 || !recorder_start(RECORDER_SOURCE_OMPT, 0, "stress")) return 1;
  if (nice(19) < 0) return 1; /* readers must keep up with the records */
  struct worker *all = calloc(n, sizeof *all);
  pthread_barrier_init(&start, NULL, n + 1);
  signal(SIGALRM, handler);
  signal(SIGUSR1, stop);
  for (int i = 0; i < n; i++) {
    all[i].records = strtoull(argv[2], NULL, 10);
    pthread_create(&all[i].thread, NULL, work, &all[i]);
  }
  struct itimerval often = {{0, 200}, {0, 200}}; /* the kernel gives the signals to threads that run */
  setitimer(ITIMER_REAL, &often, NULL);
  printf("READY\n");
  fflush(stdout);
  pthread_barrier_wait(&start);
  pthread_barrier_wait(&start);
  for (int i = 0; i < n; i++)
    printf("%lu %lu %lu\n", (uint64_t)all[i].thread, all[i].written + all[i].handler_written,
           all[i].failed + all[i].handler_failed);
  printf("DONE\n");
  fflush(stdout);
  for (;;) pause();
}
