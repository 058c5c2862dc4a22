/* A lock that each thread releases under a condition; one thread keeps it: it waits for the end of a thread that
 * wants the lock (argv[2] 0: by a variable, 1: by its number), or at a barrier (2). With argv[3] 1 it works. */
#include "truth.h"

static omp_lock_t stat;
static volatile int held;
static int count, works;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *want(void *unused) {
  (void)unused;
  truth_until(&held);
  TRUTH_WAIT("wait_lock", &stat, 0);
  omp_set_lock(&stat);
  count++;
  omp_unset_lock(&stat);
  return NULL;
}

static void keep(pthread_t helper) {
  truth_set(&held);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("work_parallel", 0, 0);
  pthread_join(helper, NULL);
}

__attribute__((noinline)) static void visit(pthread_t helper) {
  omp_set_lock(&stat);
  int last = ++count == 3;
  if (!last)
    omp_unset_lock(&stat);
  getppid();
  if (last) {
    keep(helper);
    omp_unset_lock(&stat);
  }
}

__attribute__((noinline)) static void number(pthread_t helper, int me) {
  while (me == 2 && __atomic_load_n(&count, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  omp_set_lock(&stat);
  count++;
  if (me != 2)
    omp_unset_lock(&stat);
  getppid();
  if (me == 2) {
    keep(helper);
    omp_unset_lock(&stat);
  }
}

__attribute__((noinline)) static void meet(int me) {
  if (me == 0) {
    truth_until(&held);
    TRUTH_WAIT("wait_lock", &stat, 0);
  }
  omp_set_lock(&stat);
  int mine = ++count == 2;
  if (!mine)
    omp_unset_lock(&stat);
  if (me != 0 && mine)
    truth_set(&held);
  if (mine && works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
#pragma omp barrier
  if (mine)
    omp_unset_lock(&stat);
}

int main(int argc, char **argv) {
  pthread_t observer, helper;
  long way = truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&stat);
  pthread_create(&observer, NULL, look, (void *)(way == 2 ? 3L : 4L));
  if (way != 2)
    pthread_create(&helper, NULL, want, NULL);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (way == 0)
      visit(helper);
    else if (way == 1)
      number(helper, omp_get_thread_num());
    else
      meet(omp_get_thread_num());
    TRUTH_SLEEP("", 0, 0);
#pragma omp barrier
  }
  return 0;
}
