/* orders.c: threads that acquire locks in turn, so that a thread never waits long for another: in orders that could
 * have been deadlocks, and in others that could not. READY is followed by each case's name, the number of locks in its
 * cycle (or 0), and the address of its locks. With TWIN, the cases without constructs use POSIX threads and mutexes,
 * for other tools. */
#ifdef TWIN
#include "twin.h"
#else
#include <omp.h>
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LOCKS = 4 };

struct locks {
  omp_lock_t lock[LOCKS];
  omp_nest_lock_t nest;
};

static atomic_int now, started;

/* turn lets thread n continue when those before it are done. */
static void turn(int n) {
  while (atomic_load(&now) != n) sched_yield();
}
static void done(void) { atomic_fetch_add(&now, 1); }

static void pair(struct locks *l, int a, int b) {
  omp_set_lock(&l->lock[a]);
  omp_set_lock(&l->lock[b]);
  omp_unset_lock(&l->lock[b]);
  omp_unset_lock(&l->lock[a]);
}

static void two(struct locks *l, int me) {
  turn(me);
  if (me == 0) pair(l, 0, 1);
  if (me == 1) pair(l, 1, 0);
  done();
}

static void three(struct locks *l, int me) {
  turn(me);
  pair(l, me, (me + 1) % 3);
  done();
}

static void after_barrier(struct locks *l, int me) {
#pragma omp barrier
  two(l, me);
}

static void gate_of_one(struct locks *l, int me) {
  turn(me);
  if (me == 0) {
    omp_set_lock(&l->lock[2]);
    pair(l, 0, 1);
    omp_unset_lock(&l->lock[2]);
  } else if (me == 1) {
    pair(l, 1, 0);
  }
  done();
}

static void gate_inside(struct locks *l, int me) {
  turn(me);
  if (me < 2) {
    omp_set_lock(&l->lock[me == 0 ? 0 : 2]);
    omp_set_lock(&l->lock[me == 0 ? 2 : 1]);
    omp_set_lock(&l->lock[me == 0 ? 1 : 0]);
    for (int i = 0; i < 3; i++) omp_unset_lock(&l->lock[i]);
  }
  done();
}

static void lock_and_critical(struct locks *l, int me) {
  turn(me);
  if (me == 0) {
    omp_set_lock(&l->lock[0]);
#pragma omp critical(mixed)
    atomic_fetch_add(&started, 1);
    omp_unset_lock(&l->lock[0]);
  } else if (me == 1) {
#pragma omp critical(mixed)
    {
      omp_set_lock(&l->lock[0]);
      omp_unset_lock(&l->lock[0]);
    }
  }
  done();
}

static void nested_lock(struct locks *l, int me) {
  turn(me);
  if (me == 0) {
    omp_set_nest_lock(&l->nest);
    omp_set_nest_lock(&l->nest);
    omp_set_lock(&l->lock[0]);
    omp_unset_lock(&l->lock[0]);
    omp_unset_nest_lock(&l->nest);
    omp_unset_nest_lock(&l->nest);
  } else if (me == 1) {
    omp_set_lock(&l->lock[0]);
    omp_set_nest_lock(&l->nest);
    omp_unset_nest_lock(&l->nest);
    omp_unset_lock(&l->lock[0]);
  }
  done();
}

/* both is one of two tasks that wait for each other's start. Each is created by a thread that executes its own tasks
 * first, so that two threads execute them. */
static void both(struct locks *l, int i) {
  atomic_fetch_add(&started, 1);
  while (atomic_load(&started) % 2 != 0) sched_yield();
  turn(i);
  pair(l, i, 1 - i);
  done();
}

static void two_tasks(struct locks *l, int me) {
  if (me < 2) {
#pragma omp task
    both(l, me);
  }
#pragma omp barrier
}

static void same_order(struct locks *l, int me) {
  turn(me);
  pair(l, 0, 1);
  pair(l, 1, 2);
  pair(l, 0, 2);
  done();
}

static void gate(struct locks *l, int me) {
  omp_set_lock(&l->lock[2]);
  pair(l, me == 0, me != 0);
  omp_unset_lock(&l->lock[2]);
}

static void nested_gate(struct locks *l, int me) {
  omp_set_nest_lock(&l->nest);
  omp_set_nest_lock(&l->nest);
  pair(l, me == 0, me != 0);
  omp_unset_nest_lock(&l->nest);
  omp_unset_nest_lock(&l->nest);
}

static void critical_gate(struct locks *l, int me) {
#pragma omp critical(gate)
  pair(l, me == 0, me != 0);
}

static void ordered_gate(struct locks *l, int me) {
  (void)me;
#pragma omp for ordered schedule(static, 1)
  for (int i = 0; i < 3; i++) {
#pragma omp ordered
    pair(l, i == 0, i != 0);
  }
}

static void iterations_wait(struct locks *l, int me) {
  (void)me;
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 0; i < 3; i++) {
#pragma omp ordered depend(sink : i - 1)
    pair(l, i == 0, i != 0);
#pragma omp ordered depend(source)
  }
}

static void barrier_between(struct locks *l, int me) {
  if (me == 0) pair(l, 0, 1);
#pragma omp barrier
  if (me == 1) pair(l, 1, 0);
}

static void loop_between(struct locks *l, int me) {
  if (me == 0) pair(l, 0, 1);
#pragma omp for schedule(dynamic, 1)
  for (int i = 0; i < 3; i++) sched_yield();
  if (me == 1) pair(l, 1, 0);
}

static void join_between(struct locks *l, int me) {
  if (me == 0) pair(l, 0, 1);
}
static void after_join(struct locks *l, int me) {
  if (me == 1) pair(l, 1, 0);
}

static void taskwait_between(struct locks *l, int me) {
  (void)me;
#pragma omp single
  for (int i = 0; i < 2; i++) {
#pragma omp task firstprivate(i)
    pair(l, i, 1 - i);
#pragma omp taskwait
  }
}

static void one_thread(struct locks *l, int me) {
  if (me != 1) return;
  pair(l, 0, 1);
  pair(l, 1, 0);
}

static void hand_over_hand(struct locks *l, int me) {
  (void)me;
  omp_set_lock(&l->lock[0]);
  for (int i = 1; i < LOCKS; i++) {
    omp_set_lock(&l->lock[i]);
    omp_unset_lock(&l->lock[i - 1]);
  }
  omp_unset_lock(&l->lock[LOCKS - 1]);
}

static void tests(struct locks *l, int me) {
  turn(me);
  int a = me == 0, b = me != 0;
  omp_set_lock(&l->lock[a]);
  if (omp_test_lock(&l->lock[b])) omp_unset_lock(&l->lock[b]);
  omp_unset_lock(&l->lock[a]);
  done();
}

static void in_order(struct locks *l, int me) {
  int x = 0;
  (void)me;
#pragma omp single
  for (int i = 0; i < 64; i++) {
#pragma omp task firstprivate(i) depend(inout : x)
    pair(l, i % 2, 1 - i % 2);
  }
}

/* a_while gives another thread time to execute a task. A thread asleep in a barrier may not be woken for it. */
static void a_while(void) {
  double end = omp_get_wtime() + 0.1;
  while (atomic_load(&now) < 1 && omp_get_wtime() < end) sched_yield();
}

/* created_after usually lets another thread execute the task. */
static void created_after(struct locks *l, int me) {
  (void)me;
#pragma omp single
  {
    pair(l, 0, 1);
#pragma omp task
    {
      pair(l, 1, 0);
      done();
    }
    a_while();
  }
}

/* over_at_barrier usually lets another thread execute the task, in the barrier at the end of single. */
static void over_at_barrier(struct locks *l, int me) {
  static atomic_int maker;
#pragma omp single
  {
    atomic_store(&maker, me);
#pragma omp task
    {
      pair(l, 0, 1);
      done();
    }
    a_while();
  }
  if (me == atomic_load(&maker)) pair(l, 1, 0);
}

/* depend_apart creates two tasks with dependences that do not order them. */
static void depend_apart(struct locks *l, int me) {
  if (me < 2) {
#pragma omp task depend(inout : l->lock[me])
    both(l, me);
  }
#pragma omp barrier
}

/* depend_chain creates tasks that are ordered by a task between them. */
static void depend_chain(struct locks *l, int me) {
  int x, y;
  (void)me;
#pragma omp single
  {
#pragma omp task depend(out : x)
    pair(l, 0, 1);
#pragma omp task depend(in : x) depend(out : y)
    sched_yield();
#pragma omp task depend(in : y)
    pair(l, 1, 0);
  }
}

/* depend_exclusive creates unordered tasks that are not executed at the same time. */
static void depend_exclusive(struct locks *l, int me) {
  int x;
  (void)me;
#pragma omp single
  for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i) depend(mutexinoutset : x)
    pair(l, i % 2, 1 - i % 2);
  }
}

#ifndef NO_DEPEND_WAIT /* clang 16 calls a function for it that LLVM's runtime before 16 has not */
/* depend_undeferred waits for a task by an undeferred task. */
static void depend_undeferred(struct locks *l, int me) {
  int x;
  (void)me;
#pragma omp single
  {
#pragma omp task depend(out : x)
    {
      pair(l, 0, 1);
      done();
    }
    a_while();
#pragma omp task if (0) depend(in : x)
    pair(l, 1, 0);
  }
}

/* depend_wait waits for a task by a taskwait. */
static void depend_wait(struct locks *l, int me) {
  int x;
  (void)me;
#pragma omp single
  {
#pragma omp task depend(out : x)
    {
      pair(l, 0, 1);
      done();
    }
    a_while();
#pragma omp taskwait depend(in : x)
    pair(l, 1, 0);
  }
}
#endif

static struct {
  const char *name;
  int want;
  void (*body)(struct locks *, int), (*then)(struct locks *, int);
  struct locks l;
} cases[] = {
    {"two", 2, two},
    {"three", 3, three},
    {"gate_of_one", 2, gate_of_one},
    {"gate_inside", 2, gate_inside},
    {"nested_lock", 2, nested_lock},
    {"same_order", 0, same_order},
    {"gate", 0, gate},
    {"nested_gate", 0, nested_gate},
    {"join_between", 0, join_between, after_join},
    {"one_thread", 0, one_thread},
    {"hand_over_hand", 0, hand_over_hand},
    {"tests", 0, tests},
#ifndef TWIN
    {"after_barrier", 2, after_barrier},
    {"lock_and_critical", 2, lock_and_critical},
    {"two_tasks", 2, two_tasks},
    {"critical_gate", 0, critical_gate},
    {"ordered_gate", 0, ordered_gate},
    {"iterations_wait", 0, iterations_wait},
    {"barrier_between", 0, barrier_between},
    {"loop_between", 0, loop_between},
    {"taskwait_between", 0, taskwait_between},
    {"in_order", 0, in_order},
    {"created_after", 0, created_after},
    {"over_at_barrier", 0, over_at_barrier},
    {"depend_apart", 2, depend_apart},
    {"depend_chain", 0, depend_chain},
    {"depend_exclusive", 0, depend_exclusive},
#ifndef NO_DEPEND_WAIT
    {"depend_undeferred", 0, depend_undeferred},
    {"depend_wait", 0, depend_wait},
#endif
#endif
};

enum { CASES = sizeof cases / sizeof *cases };

#ifndef TWIN
static void region(struct locks *l, void (*body)(struct locks *, int)) {
  atomic_store(&now, 0);
  atomic_store(&started, 0);
#pragma omp parallel num_threads(3)
  body(l, omp_get_thread_num());
}
#else
struct member {
  pthread_t thread;
  int number;
  struct locks *l;
  void (*body)(struct locks *, int);
};

static void *run(void *p) {
  struct member *m = p;
  m->body(m->l, m->number);
  return NULL;
}

static void region(struct locks *l, void (*body)(struct locks *, int)) {
  struct member team[3];
  atomic_store(&now, 0);
  for (int i = 0; i < 3; i++) {
    team[i] = (struct member){.number = i, .l = l, .body = body};
    pthread_create(&team[i].thread, NULL, run, &team[i]);
  }
  for (int i = 0; i < 3; i++) pthread_join(team[i].thread, NULL);
}
#endif

int main(void) {
  for (int i = 0; i < CASES; i++) {
    for (int j = 0; j < LOCKS; j++) omp_init_lock(&cases[i].l.lock[j]);
    omp_init_nest_lock(&cases[i].l.nest);
    region(&cases[i].l, cases[i].body);
    if (cases[i].then) region(&cases[i].l, cases[i].then);
  }
  printf("READY %d", (int)sizeof(struct locks));
  for (int i = 0; i < CASES; i++) printf(" %s %d %lu", cases[i].name, cases[i].want, (unsigned long)&cases[i].l);
  printf("\n");
  fflush(stdout);
#ifndef TWIN
  for (;;) pause();
#endif
}
