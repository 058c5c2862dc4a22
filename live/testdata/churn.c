/* Threads that make threads, which make threads and end, without end; and one
 * that makes processes, by fork and by the kind of clone that a tracer takes for
 * a thread. A line on the standard input ends it; it then prints OK. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAINS = 3 };
volatile unsigned long progress; /* threads that were made and joined */
static volatile int ending;
static unsigned long wrong;

static void *leaf(void *arg) { return (char *)arg + 1; }

static void *middle(void *arg) {
  pthread_t t;
  void *result = NULL;
  if (pthread_create(&t, NULL, leaf, arg) == 0 && pthread_join(t, &result) == 0 && result == (char *)arg + 1)
    __atomic_fetch_add(&progress, 1, __ATOMIC_SEQ_CST);
  else
    __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
  return arg;
}

static void *chain(void *arg) {
  while (!ending) {
    pthread_t t;
    void *result = NULL;
    if (pthread_create(&t, NULL, middle, arg) || pthread_join(t, &result) || result != arg)
      __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
  }
  return arg;
}

static int child(void *arg) { return (int)(long)arg; }

static void *family(void *arg) {
  static char stack[65536] __attribute__((aligned(16)));
  while (!ending) {
    int status = 0;
    pid_t pid = clone(child, stack + sizeof stack, CLONE_VM, (void *)3L);
    if (waitpid(pid, &status, __WALL) != pid || WEXITSTATUS(status) != 3)
      __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
    pid = fork();
    if (pid == 0)
      _exit(4);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 4)
      __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
  }
  return arg;
}

int main(void) {
  pthread_t t[CHAINS], f;
  char line[16];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  for (long i = 0; i < CHAINS; i++)
    pthread_create(&t[i], NULL, chain, (void *)i);
  pthread_create(&f, NULL, family, NULL);
  puts("READY");
  fflush(stdout);
  if (read(0, line, sizeof line) < 0)
    return 1;
  ending = 1;
  for (int i = 0; i < CHAINS; i++)
    pthread_join(t[i], NULL);
  pthread_join(f, NULL);
  puts(wrong ? "FAILED" : "OK");
  return wrong != 0;
}
