/* A program of several threads that, at a byte on the standard input, becomes
 * another program or ends, as its argument says: exec (from a second thread),
 * exit, or main (only its first thread ends). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

volatile unsigned long progress;
static const char *what, *self;

static void *spin(void *arg) {
  for (;;)
    progress++;
  return arg;
}

static void *act(void *arg) {
  char c;
  if (read(0, &c, 1) != 1)
    _exit(1);
  if (!strcmp(what, "exec"))
    execl(self, self, "again", (char *)NULL);
  _exit(0);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;
  what = argc > 1 ? argv[1] : "";
  self = argv[0];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  if (!strcmp(what, "protected"))
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  pthread_create(&t, NULL, spin, NULL);
  pthread_create(&t, NULL, spin, NULL);
  pthread_create(&t, NULL, act, NULL);
  puts("READY");
  fflush(stdout);
  if (!strcmp(what, "main"))
    pthread_exit(NULL);
  pthread_join(t, NULL);
  return 0;
}
