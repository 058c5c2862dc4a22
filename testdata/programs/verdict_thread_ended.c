/* A thread of a team ends inside the parallel region, and the others
 * wait for it at a barrier. With 1 it is in the region, and only late.
 * The second argument is the way it ends: by 0 itself, 1 a cancellation,
 * 2 the kernel, which kills it for a system call that its filter refuses. */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static volatile int ending, parted;
static long late, way;

/* look waits until the thread that ends has ended, and the others are at the barrier. */
static void *look(void *unused) {
  char path[64];
  struct timespec pause = {0, 1000000};
  (void)unused;
  truth_until(&ending);
  snprintf(path, sizeof path, "/proc/self/task/%d", ending);
  while (!late && access(path, F_OK) == 0)
    nanosleep(&pause, NULL);
  truth_await(late ? 3 : 2);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void part(void) {
  struct sock_filter refuse[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof refuse / sizeof refuse[0], refuse};
  __atomic_store_n(&ending, truth_tid(), __ATOMIC_SEQ_CST);
  if (way == 0)
    pthread_exit(NULL);
  if (way == 1) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
    syscall(SYS_getppid);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  late = truth_arg(argc, argv, 1, 0);
  way = truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 2 && !late)
      part();
    TRUTH_REGION(__LINE__ - 4);
    if (omp_get_thread_num() == 2) {
      truth_set(&ending);
      TRUTH_HOLD("work_parallel");
    }
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    parted = 1;
  }
  return 0;
}
