/* Threads that block in system calls. A byte on the standard input lets them go
 * on; each says what is wrong if its call did not end as it must, with EINTR or
 * too early. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int pipes[4][2];
static int word;
static sem_t sem;
static const struct timespec nap = {1, 500000000}; /* outlives the attaches of the test */
static volatile int tids[16], count, failures;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void enter(void) { tids[__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST)] = (int)syscall(SYS_gettid); }

static void check(const char *what, long got, long want) {
  if (got == want)
    return;
  printf("%s: %ld, want %ld: %s\n", what, got, want, strerror(errno));
  __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
}

static void slept(const char *what, double start) {
  double t = now() - start;
  if (t < 1.5 || t > 20) {
    printf("%s slept %g s\n", what, t);
    __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
  }
}

static void *in_nanosleep(void *a) {
  double start = now();
  enter();
  check("nanosleep", syscall(SYS_nanosleep, &nap, NULL), 0);
  slept("nanosleep", start);
  return a;
}
static void *in_clock_nanosleep(void *a) {
  double start = now();
  enter();
  check("clock_nanosleep", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL), 0);
  slept("clock_nanosleep", start);
  return a;
}
static void *in_futex_timeout(void *a) {
  static int other;
  double start = now();
  enter();
  check("futex with time-out", syscall(SYS_futex, &other, FUTEX_WAIT, 0, &nap, NULL, 0), -1);
  check("futex with time-out", errno, ETIMEDOUT);
  slept("futex with time-out", start);
  return a;
}
static void *in_poll_timeout(void *a) {
  double start = now();
  enter();
  check("poll with time-out", poll(NULL, 0, 1500), 0);
  slept("poll with time-out", start);
  return a;
}
static void *in_read(void *a) {
  char b;
  enter();
  check("read", read(pipes[0][0], &b, 1), 1);
  return a;
}
static void *in_poll(void *a) {
  struct pollfd p = {pipes[1][0], POLLIN, 0};
  enter();
  check("poll", poll(&p, 1, -1), 1);
  return a;
}
static void *in_select(void *a) {
  fd_set s;
  FD_ZERO(&s);
  FD_SET(pipes[2][0], &s);
  enter();
  check("select", select(pipes[2][0] + 1, &s, NULL, NULL, NULL), 1);
  return a;
}
static void *in_recv(void *a) {
  char b;
  enter();
  check("recv", recv(pipes[3][0], &b, 1, 0), 1);
  return a;
}
static void *in_futex(void *a) {
  enter();
  check("futex", syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0), 0);
  return a;
}
static void *in_sem_wait(void *a) {
  enter();
  check("sem_wait", sem_wait(&sem), 0);
  return a;
}

/* blocks waits until a thread is really in a system call, or has ended: the time of its call may be over. */
static void blocks(int tid) {
  char name[64], text[64];
  snprintf(name, sizeof name, "/proc/self/task/%d/syscall", tid);
  for (;;) {
    int fd = open(name, O_RDONLY);
    if (fd < 0)
      return;
    long n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n > 0 && text[0] >= '0' && text[0] <= '9')
      return;
    usleep(1000);
  }
}

int main(void) {
  void *(*const calls[])(void *) = {in_nanosleep, in_clock_nanosleep, in_futex_timeout, in_poll_timeout, in_read,
                                    in_poll,      in_select,          in_recv,          in_futex,        in_sem_wait};
  enum { N = sizeof calls / sizeof *calls };
  pthread_t t[N];
  char c;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(3600);
  for (int i = 0; i < 3; i++)
    if (pipe(pipes[i]))
      return 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pipes[3]))
    return 1;
  sem_init(&sem, 0, 0);
  for (int i = 0; i < N; i++)
    pthread_create(&t[i], NULL, calls[i], NULL);
  while (__atomic_load_n(&count, __ATOMIC_SEQ_CST) < N)
    usleep(100);
  for (int i = 0; i < N; i++)
    blocks(tids[i]);
  puts("READY");
  fflush(stdout);
  if (read(0, &c, 1) != 1)
    return 1;
  for (int i = 0; i < 4; i++)
    if (write(pipes[i][1], "x", 1) != 1)
      return 1;
  while (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0)
    usleep(100);
  sem_post(&sem);
  for (int i = 0; i < N; i++)
    pthread_join(t[i], NULL);
  puts(failures ? "FAILED" : "OK");
  return failures != 0;
}
