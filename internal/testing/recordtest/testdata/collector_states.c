/* collector_states.c: two threads; one holds the object that the other waits for, and requests the other's state by a
 * signal, until that is the expected state: the program does not depend on time.
 */
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector.h"

static int failures;

#define FAIL(...)                       \
  do {                                  \
    printf("line %d: ", __LINE__);      \
    printf(__VA_ARGS__);                \
    printf("\n");                       \
    failures++;                         \
  } while (0)

static volatile sig_atomic_t asked;
static struct request state, region;
static int other; /* LWP of the other thread */

static void handler(int number) {
  (void)number;
  state = ask(OMP_REQ_STATE);
  region = ask(OMP_REQ_CURRENT_PRID);
  __atomic_store_n(&asked, asked + 1, __ATOMIC_RELEASE);
}

static void ask_other(void) {
  int before = asked;
  syscall(SYS_tgkill, getpid(), other, SIGUSR1);
  while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) == before) sched_yield();
  if (state.error != OMP_ERRCODE_OK || region.error != OMP_ERRCODE_OK)
    FAIL("the state has error %d, the region %d", state.error, region.error);
}

/* comes requests the other thread's state until it is the given one. */
static void comes(int want, uint64_t in) {
  do ask_other();
  while (state.memory.state.state != want);
  if (region.memory.region != in) FAIL("state %d in region %#lx, want %#lx", want, region.memory.region, in);
}

static uint64_t here(void) { return ask(OMP_REQ_CURRENT_PRID).memory.region; }

static int counts[OMP_EVENT_THR_END_ATWT + 1];
static void count(OMP_COLLECTORAPI_EVENT e) { __atomic_add_fetch(&counts[e], 1, __ATOMIC_RELAXED); }

static uint64_t fork_region, fork_parent, join_region;
static void forks(OMP_COLLECTORAPI_EVENT e) {
  count(e);
  struct request s = ask(OMP_REQ_STATE);
  if (s.memory.state.state != THR_OVHD_STATE) FAIL("the state of a thread that forks is %d", s.memory.state.state);
  fork_region = here();
  fork_parent = ask(OMP_REQ_PARENT_PRID).memory.region;
}
static void joins(OMP_COLLECTORAPI_EVENT e) {
  count(e);
  join_region = here();
}

static int reductions;
static int combine(int a, int b) { /* the combining thread is in this state, if the runtime reports it */
  if (ask(OMP_REQ_STATE).memory.state.state == THR_REDUC_STATE) __atomic_add_fetch(&reductions, 1, __ATOMIC_RELAXED);
  return a + b;
}
#pragma omp declare reduction(combined:int : omp_out = combine(omp_out, omp_in)) initializer(omp_priv = 0)

static omp_lock_t lock;
static volatile int step;
static void until(int n) {
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < n) sched_yield();
}
static void next(void) { __atomic_add_fetch(&step, 1, __ATOMIC_RELEASE); }

/* The calls of compilers for atomic constructs on variables for which there is no instruction. */
#ifdef GNU
extern void GOMP_atomic_start(void), GOMP_atomic_end(void);
#else
extern void __kmpc_atomic_start(void), __kmpc_atomic_end(void);
#define GOMP_atomic_start __kmpc_atomic_start
#define GOMP_atomic_end __kmpc_atomic_end
#endif
static void atomic(int i, uint64_t r) {
  if (i == 0) {
    GOMP_atomic_start();
    next();
    comes(THR_ATWT_STATE, r);
    GOMP_atomic_end();
  } else {
    until(2);
    GOMP_atomic_start();
    GOMP_atomic_end();
  }
}

/* waits executes each wait in the paper, in a region of two threads. */
static void waits(void) {
  int taken = 0;
#pragma omp parallel num_threads(2) shared(taken)
  {
    int i = omp_get_thread_num();
    uint64_t r = here();
    if (i == 1) {
      other = (int)syscall(SYS_gettid);
      next();
    } else {
      until(1);
      comes(THR_WORK_STATE, r); /* it spins in until, below */
      if (fork_region != r || fork_parent != 0) FAIL("forked %#lx in %#lx, is in %#lx", fork_region, fork_parent, r);
    }
    atomic(i, r);
    if (i == 0) {
      omp_set_lock(&lock);
      next();
      comes(THR_LKWT_STATE, r);
      if (state.memory.state.wait_id != &lock) FAIL("waits for %p, want %p", state.memory.state.wait_id, (void *)&lock);
      omp_unset_lock(&lock);
    } else {
      until(3);
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    }
    if (i == 1) until(4);
#pragma omp critical(name)
    if (i == 0) {
      next();
      comes(THR_CTWT_STATE, r);
      if (state.memory.state.wait_id == NULL) FAIL("a critical construct has no wait id");
    }
#pragma omp for ordered schedule(static, 1)
    for (int k = 0; k < 2; k++) {
#pragma omp ordered
      if (k == 0) {
        comes(THR_ODWT_STATE, r);
        if (state.memory.state.wait_id == NULL) FAIL("an ordered construct has no wait id");
      }
    }
    if (i == 0) {
      comes(THR_EBAR_STATE, r);
      if (state.memory.state.wait_id == NULL) FAIL("a barrier has no id");
    }
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < 2; k++) {
      __atomic_add_fetch(&taken, 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) < 2) sched_yield(); /* each thread takes one */
      if (i == 0) comes(THR_IBAR_STATE, r);
    }
#pragma omp single
    __asm__ volatile("");
#pragma omp master
    __asm__ volatile("");
    if (i == 0) comes(THR_IBAR_STATE, r); /* at the end of the region */
  }
  if (join_region != 0) FAIL("after the region it is in %#lx", join_region);
  comes(THR_IDLE_STATE, 0);
}

/* pairs checks that each begin has its end, except for workers without a region: some runtimes report those late. */
static void pairs(void) {
  for (int e = OMP_EVENT_FORK; e <= OMP_EVENT_THR_BEGIN_ATWT; e += 2) {
    int begun = counts[e], ended = counts[e + 1];
    int open = e == OMP_EVENT_THR_BEGIN_IDLE || e == OMP_EVENT_THR_BEGIN_IBAR;
    if (ended > begun || begun - ended > open) FAIL("event %d came %d times, %d %d times", e, begun, e + 1, ended);
#ifdef GNU
    int none = e == OMP_EVENT_THR_BEGIN_MASTER;
#else
    int none = 0;
#endif
    if ((begun == 0) != none) FAIL("event %d came %d times", e, begun);
  }
  if (counts[OMP_EVENT_FORK] != 2) FAIL("%d forks", counts[OMP_EVENT_FORK]);
  if (counts[OMP_EVENT_THR_BEGIN_SINGLE] != 1) FAIL("%d single", counts[OMP_EVENT_THR_BEGIN_SINGLE]);
  if (counts[OMP_EVENT_THR_BEGIN_ORDERED] != 2) FAIL("%d ordered", counts[OMP_EVENT_THR_BEGIN_ORDERED]);
}

int main(void) {
  alarm(3600); /* for an event that never happens */
  find_api();
  if (ask(OMP_REQ_START).error != OMP_ERRCODE_OK) return 1;
  for (int e = OMP_EVENT_FORK; e <= OMP_EVENT_THR_END_ATWT; e++)
    enroll(e, e == OMP_EVENT_FORK ? forks : e == OMP_EVENT_JOIN ? joins : count);
  signal(SIGUSR1, handler);
  omp_init_lock(&lock);
  waits();
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(combined : sum)
  sum += 1;
#ifndef GNU
  if (reductions == 0) FAIL("nobody was in a reduction");
#endif
  if (sum != 2) FAIL("the sum is %d", sum);
  pairs();
  printf("%d failed\n", failures);
  return 0;
}
