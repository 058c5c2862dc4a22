/* A child after fork that waits for threads which only its parent has. argv[2] is the situation:
 *   0 the system call fork, past the runtime's handler of fork; the child reaches a parallel region
 *   1 in a region: another thread is in a critical section, which the child enters
 *   2 in a region: another thread holds a lock, which the child acquires
 *   3 in no region: another thread holds a mutex, which the child acquires in a region
 *   4 in a region: thread 1 forks, and the child reaches a barrier
 * argv[3] is 1 for the healthy twin: the other thread holds nothing at the fork. */
#include "truth.h"
#include <errno.h>
#include <sys/wait.h>

static omp_lock_t lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, together;
static int healthy;

/* started is the processor time of the child when it enters its wait; parent and child share it. */
static struct timespec *started;

/* in_place reports whether the child sleeps in the same call as at the last look, or has used 20 ms
 * of processor time in its wait. */
static int in_place(int pid, char *seen, size_t size) {
  char path[64], now[128] = "";
  struct timespec used = {0, 0};
  clockid_t clock;
  snprintf(path, sizeof path, "/proc/%d/syscall", pid);
  FILE *f = fopen(path, "r");
  if (!f)
    _exit(3);
  int same = fgets(now, sizeof now, f) && !strcmp(now, seen);
  fclose(f);
  snprintf(seen, size, "%s", now);
  if (same && (atoi(now) == SYS_futex || atoi(now) == SYS_pause) && now[0] >= '0' && now[0] <= '9')
    return 1;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
    _exit(3);
  return (used.tv_sec - started->tv_sec) * 1000000000L + used.tv_nsec - started->tv_nsec > 20000000;
}

/* watch reports that the child is in its place, and ends with it. */
__attribute__((noinline)) static void watch(int pid) {
  struct timespec look = {0, 1000000};
  char seen[128] = "";
  const char *fd = getenv("OMPD_READY_FD");
  while (!in_place(pid, seen, sizeof seen))
    nanosleep(&look, NULL);
  if (fd && write(atoi(fd), "READY\n", 6) != 6)
    _exit(3);
  while (waitpid(pid, NULL, 0) != pid)
    if (errno != EINTR)
      break;
  _exit(0);
}

/* born makes this process a child that ends with its parent, and writes the truth about it. */
static void born(char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  truth_init(2, argv, __FILE__);
  truth_write(0);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, started);
}

static void stay(void) {
  for (;;)
    pause();
}

__attribute__((noinline)) static void in_critical(void) {
#pragma omp critical(ledger)
  {
    truth_set(&held);
    stay();
  }
}

__attribute__((noinline)) static void enter(void) {
#pragma omp critical(ledger)
  together++;
}

__attribute__((noinline)) static void with_lock(void) {
  omp_set_lock(&lock);
  truth_set(&held);
  stay();
  omp_unset_lock(&lock);
}

__attribute__((noinline)) static void with_mutex(void) {
  pthread_mutex_lock(&mutex);
  truth_set(&held);
  stay();
  pthread_mutex_unlock(&mutex);
}

/* hold is the other thread. */
static void hold(long what) {
  if (what == 1 && !healthy)
    in_critical();
  if (what == 2 && !healthy)
    with_lock();
  if (what == 3 && !healthy)
    with_mutex();
  truth_set(&held);
  stay();
}

static void *other(void *what) {
  hold((long)what);
  return NULL;
}

__attribute__((noinline)) static void inside(long what, char **argv) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() != (what == 4))
      hold(what);
    truth_until(&held);
    int pid = fork();
    if (pid != 0 && what == 4)
      _exit(waitpid(pid, NULL, 0) != pid);
    if (pid != 0)
      watch(pid);
    born(argv);
    if (what == 1)
      enter();
    if (what == 2)
      omp_set_lock(&lock);
    if (what == 4) {
#pragma omp barrier
      together++;
    }
    stay();
  }
}

__attribute__((noinline)) static void meet(void) {
#pragma omp parallel num_threads(3)
  __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void alone(char **argv) {
  pthread_t t;
  pthread_create(&t, NULL, other, (void *)3);
  truth_until(&held);
  int pid = fork();
  if (pid != 0)
    watch(pid);
  born(argv);
#pragma omp parallel num_threads(1)
  pthread_mutex_lock(&mutex);
  stay();
}

int main(int argc, char **argv) {
  long what = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  started = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&lock);
  if (what == 1 || what == 2 || what == 4)
    inside(what, argv);
  if (what == 3)
    alone(argv);
#pragma omp parallel num_threads(3)
  __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
  int pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid != 0)
    watch(pid);
  born(argv);
  meet();
}
