/* A program that has used OpenMP, and waits for two processes that it
 * forked. One waits for work that never arrives; the other waits for a lock
 * that it holds ("hang"), or computes for some seconds and ends ("work"). */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 3600, WORK_S = 4 };

static omp_lock_t lock;
static volatile int sum;

static void region(void) {
#pragma omp parallel num_threads(2)
  __atomic_add_fetch(&sum, 1, __ATOMIC_SEQ_CST);
}

/* work computes without a region, because GNU's runtime has no regions in a forked child. */
__attribute__((noinline)) static void work(void) {
  struct timespec now, begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 0; i < 1000; i++)
      sum += i;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < begin.tv_sec + WORK_S);
}

__attribute__((noinline)) static void hang(void) {
  omp_init_lock(&lock); /* LLVM's runtime starts again in a child, without its parent's locks */
  omp_set_lock(&lock);
  omp_set_lock(&lock);
  sum++; /* that was no tail call */
}

/* born begins a child, which ends with its parent. */
static void born(void) {
  alarm(LIMIT_S);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv) {
  int orders[2], hangs = argc > 1 && !strcmp(argv[1], "hang"), idle, busy, status = 0;
  char order;
  alarm(LIMIT_S);
  region();
  if (pipe(orders))
    return 3;
  if ((idle = fork()) == 0) {
    born();
    close(orders[1]);
    _exit(read(orders[0], &order, 1) != 0);
  }
  if ((busy = fork()) == 0) {
    born();
    if (hangs)
      hang();
    else
      work();
    _exit(5);
  }
  printf("%d %d %d\n", busy, idle, getpid());
  fflush(stdout);
  waitpid(busy, &status, 0);
  close(orders[1]);
  if (waitpid(idle, NULL, 0) != idle)
    return 4;
  return WEXITSTATUS(status);
}
