/* Two threads that clone made without CLONE_SETTLS: each has the thread pointer of its creator, the initial thread or
 * thread 1 of a team of two, and is no OpenMP thread. Thread 1 is in a barrier. */
#include "truth.h"
#include <sched.h>

static char stacks[2][65536] __attribute__((aligned(64)));

/* RAW makes a system call without arguments. The thread stays at the instruction after it, which has the line, too. */
#if defined(__x86_64__)
#define RAW(n) \
  __asm__ volatile("syscall\n nop" : "=a"(r) : "a"(n), "D"(0L), "S"(0L), "d"(0L) : "rcx", "r11", "r10", "memory")
#elif defined(__aarch64__)
#define RAW(n) \
  __asm__ volatile("mov x8, %1\n mov x0, 0\n mov x1, 0\n mov x2, 0\n mov x3, 0\n svc 0\n mov %0, x0" \
                   : "=r"(r) : "r"(n) : "x0", "x1", "x2", "x3", "x8", "memory")
#endif

/* still uses no thread-local variable, such as errno: those of the thread pointer are its creator's. */
__attribute__((noinline)) static int still(void *arg) {
  struct truth_thread *t = (struct truth_thread *)arg;
  long r;
  RAW((long)SYS_gettid);
  t->lwp = (int)r;
  t->line = __LINE__ + 3;
  __atomic_store_n(&t->place, TRUTH_HELD, __ATOMIC_RELEASE);
  for (;;)
    RAW((long)SYS_pause);
  return 0;
}

static void start(int n) {
  struct truth_thread *t = &truth_threads[__atomic_fetch_add(&truth_count, 1, __ATOMIC_RELAXED)];
  t->root = getpid();
  t->state = "";
  t->function = "still";
  t->file = __FILE__;
  if (clone(still, stacks[n] + sizeof stacks[n],
            CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, t) < 0)
    _exit(3);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  start(0);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      truth_trigger("work_parallel", 3);
    start(1);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
  return 0;
}
