/* The thread that forked a region ends in it, and the others wait for it. By the first number:
 *  0  a thread of the program is cancelled
 *  1  a thread of the program calls pthread_exit
 *  2  the initial thread calls pthread_exit
 *  3  as 1, in a team of two
 *  4  a worker that forked a nested region calls pthread_exit there
 *  5  healthy: a thread has ended after its region, while another one's region continues
 *  6  healthy: as 5, and the thread stays in a destructor of the program
 */
#include "truth.h"

static volatile int ending, ended;
static int kind, size = 3, passed[4];
static pthread_key_t key;

/* look waits until the thread that ends is gone, or asleep for good, and so many others are in place. */
static void *look(void *others) {
  char path[64], seen[128] = "";
  struct timespec pause = {0, 1000000};
  truth_until(&ending);
  snprintf(path, sizeof path, "/proc/self/task/%d", ending);
  while (access(path, F_OK) == 0 && !truth_still(ending, kind == 6 ? SYS_pause : SYS_futex, seen, sizeof seen))
    nanosleep(&pause, NULL);
  truth_await(*(int *)others);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void leave(void) {
  __atomic_store_n(&ending, truth_tid(), __ATOMIC_SEQ_CST);
  if (kind == 0) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_exit(NULL);
}

__attribute__((noinline)) static void part(int leaves) {
  truth_region(0, getpid());
  if (omp_get_thread_num() == 0 && leaves)
    leave();
  if (omp_get_thread_num() == 0)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  passed[omp_get_thread_num()]++;
}

__attribute__((noinline)) static void region(int leaves) {
#pragma omp parallel num_threads(size)
  {
    part(leaves);
    passed[0]++;
  }
}

__attribute__((noinline)) static void nested(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      TRUTH_HOLD("work_parallel");
    region(1);
    passed[1]++;
  }
}

static void *job(void *unused) {
  (void)unused;
  region(1);
  return NULL;
}

static void stay(void *unused) {
  (void)unused;
  __atomic_store_n(&ending, truth_tid(), __ATOMIC_SEQ_CST);
  for (;;)
    pause();
}

/* brief is a thread that ends after its region. */
static void *brief(void *unused) {
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
    passed[2 + omp_get_thread_num()]++;
  }
  if (kind == 6)
    pthread_setspecific(key, &key);
  else
    __atomic_store_n(&ending, truth_tid(), __ATOMIC_SEQ_CST);
  return unused;
}

int main(int argc, char **argv) {
  static int others;
  pthread_t observer, thread;
  truth_init(argc, argv, __FILE__);
  kind = truth_arg(argc, argv, 1, 0);
  others = kind == 3 ? 1 : kind >= 4 ? 3 : 2;
  if (kind == 3)
    size = 2;
  omp_set_max_active_levels(2);
  pthread_key_create(&key, stay);
  pthread_create(&observer, NULL, look, &others);
  switch (kind) {
  case 2:
    region(1);
    break;
  case 4:
    nested();
    break;
  case 5:
  case 6:
    pthread_create(&thread, NULL, brief, NULL);
    region(0);
    break;
  default:
    pthread_create(&thread, NULL, job, NULL);
    pthread_join(thread, NULL);
  }
  for (;;)
    pause();
}
