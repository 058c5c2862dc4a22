/* A program that makes threads and becomes itself again from one of them at once,
 * as often as its argument says; it then prints READY, and ends at a byte on the
 * standard input. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 6 };
static const char *self;
static char left[16];

static void *spin(void *arg) {
  for (;;)
    ;
  return arg;
}

static void *again(void *arg) {
  execl(self, self, left, (char *)NULL);
  _exit(1);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;
  char c;
  int n = argc > 1 ? atoi(argv[1]) : 0;
  self = argv[0];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  if (n > 0) {
    snprintf(left, sizeof left, "%d", n - 1);
    for (int i = 0; i < THREADS; i++)
      pthread_create(&t, NULL, i == THREADS / 2 ? again : spin, NULL);
    pause();
  }
  puts("READY");
  fflush(stdout);
  return read(0, &c, 1) != 1;
}
