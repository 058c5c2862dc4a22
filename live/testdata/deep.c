/* A program with a thread in uninterruptible sleep: it waits for a child of
 * vfork, which ends at a byte on the standard input. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned long progress;
static volatile int failed;

static void *spin(void *arg) {
  for (;;)
    progress++;
  return arg;
}

static void *wait_for_child(void *arg) {
  int status = 0;
  pid_t child = vfork();
  if (child == 0) {
    char c;
    _exit(write(1, "READY\n", 6) == 6 && read(0, &c, 1) == 1 ? 7 : 1);
  }
  failed = waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7;
  return arg;
}

int main(void) {
  pthread_t a, b;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  pthread_create(&a, NULL, spin, NULL);
  pthread_create(&b, NULL, wait_for_child, NULL);
  pthread_join(b, NULL);
  puts(failed ? "FAILED" : "OK");
  fflush(stdout);
  _exit(failed);
}
