/* A program on the runtime of foreign_runtime.c, which it calls as a compiler would. In a team of
 * three, thread 0 holds a lock and works, thread 1 forks an inner team of two, thread 2 waits for the
 * others. In the inner team, thread 0 waits for the lock, and thread 1 triggers. There is also a plain
 * thread. With an argument of 2, a second thread of the program forks a team of three that works. */
#include "truth.h"

void crew_run(int size, void (*part)(void *), void *arg);
void crew_meet(void);

static omp_lock_t lock;
static volatile int taken;
static int roots, lwp_of[2];

static void inner(void *first) {
  truth_region(0, *(int *)first);
  truth_until(&taken);
  if (omp_get_thread_num() == 1)
    truth_trigger("work_parallel", roots == 2 ? 7 : 4);
  TRUTH_SLEEP("wait_lock", 0, __LINE__ + 1);
  omp_set_lock(&lock);
  TRUTH_NEVER();
}

static void outer(void *first) {
  truth_region(0, *(int *)first);
  switch (omp_get_thread_num()) {
  case 0:
    omp_set_lock(&lock);
    truth_set(&taken);
    TRUTH_HOLD("work_parallel");
    break;
  case 1:
    omp_set_num_threads(2);
    crew_run(omp_get_max_threads(), inner, first);
    break;
  default:
    TRUTH_SLEEP("undefined", 0, __LINE__ + 1);
    crew_meet();
  }
  TRUTH_NEVER();
}

static void busy(void *first) {
  truth_region(0, *(int *)first);
  TRUTH_HOLD("work_parallel");
}

static void *other(void *unused) {
  truth_hold("", 0);
  return unused;
}

static void *root(void *part) {
  int *lwp = &lwp_of[part != (void *)outer];
  *lwp = truth_tid();
  crew_run(3, (void (*)(void *))part, lwp);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t plain, second;
  truth_init(argc, argv, __FILE__);
  roots = truth_arg(argc, argv, 1, 1);
  omp_init_lock(&lock);
  pthread_create(&plain, NULL, other, NULL);
  if (roots == 2)
    pthread_create(&second, NULL, root, busy);
  root(outer);
  return 0;
}
