/* A child after fork with a runtime that counts on threads of its parent. The situation is
 * argv[2]: 1 the child reaches a parallel region   2 it was forked inside of one, and reaches its
 * barrier   3 it works, and has reached neither   4 it creates threads of its own, which get the
 * stacks of the missing ones, and reaches a parallel region   5 it was forked inside of one, and works
 * alone, without the runtime */
#include "truth.h"
#include <sys/wait.h>

static volatile int together, apart;

/* asleep reports whether the one thread of a process sleeps in a futex, or in pause(). */
static int asleep(int pid, char *seen, size_t size) {
  char path[64], now[128] = "";
  snprintf(path, sizeof path, "/proc/%d/syscall", pid);
  FILE *f = fopen(path, "r");
  if (!f)
    _exit(3);
  int read = fgets(now, sizeof now, f) != NULL, same = read && !strcmp(now, seen);
  fclose(f);
  snprintf(seen, size, "%s", now);
  return same && (atoi(now) == SYS_futex || atoi(now) == SYS_pause) && now[0] >= '0' && now[0] <= '9';
}

/* watch reports that the child is in its place, and stays until it ends. */
static void watch(int pid) {
  struct timespec look = {0, 1000000};
  char seen[128] = "";
  const char *fd = getenv("OMPD_READY_FD");
  while (!asleep(pid, seen, sizeof seen))
    nanosleep(&look, NULL);
  if (fd && write(atoi(fd), "READY\n", 6) != 6)
    _exit(3);
  for (;;)
    if (waitpid(pid, NULL, 0) == pid)
      _exit(0);
}

/* born makes this process a child that ends with its parent, and writes the truth about it. */
static void born(char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  truth_init(2, argv, __FILE__);
  truth_write(0);
}

__attribute__((noinline)) static void meet(void) {
#pragma omp parallel num_threads(3)
  __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void inside(char **argv, int alone) {
  int pid = -1;
#pragma omp parallel num_threads(3) firstprivate(pid)
  {
    if (omp_get_thread_num() != 1)
      truth_until(&apart); /* at the fork, they have not reached the barrier */
    else if ((pid = fork()) != 0)
      watch(pid);
    if (pid == 0)
      born(argv);
    while (pid == 0 && alone)
      pause();
#pragma omp barrier
    TRUTH_NEVER();
  }
}

static void *other(void *unused) {
  for (;;)
    pause();
  return unused;
}

int main(int argc, char **argv) {
  long what = truth_arg(argc, argv, 1, 1);
  truth_init(argc, argv, __FILE__);
  if (what == 2 || what == 5)
    inside(argv, what == 5);
#pragma omp parallel num_threads(3)
  __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
  int pid = fork();
  if (pid != 0)
    watch(pid);
  born(argv);
  if (what == 4)
    for (int i = 0; i < 2; i++)
      pthread_create(&(pthread_t){0}, NULL, other, NULL);
  if (what == 1 || what == 4)
    meet();
  for (;;)
    pause();
}
