// A healthy program that executes one construct again and again until it is killed. A test holds some of its threads
// at any instruction while the others run on until they wait.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long sum;
static int cells[16];

static void add(long n) {
#pragma omp atomic
  sum += n;
}

static void tree(int depth) {
  if (depth == 0) {
    add(1);
    return;
  }
  for (int i = 0; i < 2; i++) {
#pragma omp task
    tree(depth - 1);
  }
#pragma omp taskwait
}

static void tasks(void) {
#pragma omp parallel
#pragma omp single
  tree(4);
}

// leave creates tasks that nobody waits for but the barrier.
static void leave(int depth) {
  for (int i = 0; i < 2 && depth > 0; i++) {
#pragma omp task
    leave(depth - 1);
  }
  add(1);
}

static void left(void) {
#pragma omp parallel
  {
#pragma omp single nowait
    leave(4);
#pragma omp barrier
    add(1);
  }
}

static void detached(void) {
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 4; i++) {
      omp_event_handle_t done;
#pragma omp task detach(done)
      {
        add(1);
        omp_fulfill_event(done);
      }
    }
#pragma omp taskwait
  }
}

static void fulfilled(void) {
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t done;
#pragma omp task detach(done) depend(out : cells[0])
    add(1);
#pragma omp task depend(in : cells[0]) depend(out : cells[1])
    add(1);
#pragma omp task
    omp_fulfill_event(done);
#pragma omp task depend(in : cells[1])
    add(1);
#pragma omp taskwait
  }
}

static void grouped(void) {
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  {
    for (int i = 0; i < 4; i++) {
      omp_event_handle_t done;
#pragma omp task detach(done)
      {
        tree(2);
        omp_fulfill_event(done);
      }
    }
  }
}

static void depend(void) {
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 12; i++) {
#pragma omp task depend(in : cells[i]) depend(inout : cells[(i * 5 + 3) % 16])
      add(i);
    }
#pragma omp taskwait
  }
}

static void loops(void) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(8)
  for (int i = 0; i < 32; i++)
    add(i);
}

static void urgent(void) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 8; i++) {
#pragma omp task priority(i % 3) untied
    {
      add(i);
#pragma omp taskyield
      add(i);
    }
  }
}

static omp_lock_t lock;
static omp_nest_lock_t nest;

static void locks(void) {
#pragma omp parallel
  for (int i = 0; i < 8; i++) {
    omp_set_lock(&lock);
    sum++;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    sum++;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
}

static void criticals(void) {
#pragma omp parallel
  for (int i = 0; i < 8; i++) {
#pragma omp critical
    sum++;
#pragma omp critical(other)
    sum++;
  }
}

static void ordered(void) {
#pragma omp parallel for ordered schedule(dynamic)
  for (int i = 0; i < 16; i++) {
    add(i);
#pragma omp ordered
    sum++;
  }
}

static void doacross(void) {
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (int i = 0; i < 16; i++) {
#pragma omp ordered depend(sink : i - 1)
    add(i);
#pragma omp ordered depend(source)
  }
}

static void shared(void) {
  long total = 0;
#pragma omp parallel
  {
    int mine = 0;
#pragma omp single copyprivate(mine)
    mine = 1;
    add(mine);
#pragma omp sections
    {
#pragma omp section
      add(1);
#pragma omp section
      add(2);
    }
#pragma omp for schedule(dynamic) reduction(+ : total)
    for (int i = 0; i < 8; i++)
      total += i;
#pragma omp masked
    add(1);
#pragma omp barrier
#pragma omp master
    add(total);
  }
}

static void nested(void) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
    add(1);
#pragma omp single
    tree(2);
  }
}

static void cancelled(void) {
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < 64; i++) {
      if (i == 40) {
#pragma omp cancel for
      }
      add(1);
#pragma omp cancellation point for
    }
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 8; i++) {
#pragma omp task
      {
        if (i == 3) {
#pragma omp cancel taskgroup
        }
        add(1);
      }
    }
  }
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static int stored;

static void put(void) {
  pthread_mutex_lock(&guard);
  while (stored == 2)
    pthread_cond_wait(&less, &guard);
  stored++;
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&guard);
}

static void take(void) {
  pthread_mutex_lock(&guard);
  while (stored == 0)
    pthread_cond_wait(&more, &guard);
  stored--;
  pthread_cond_signal(&less);
  pthread_mutex_unlock(&guard);
}

static void conditions(void) {
#pragma omp parallel
  for (int i = 0; i < 6; i++) {
    if (omp_get_thread_num() % 2)
      put();
    else
      take();
  }
}

// passed passes items between tasks: those that take wait for those that put.
static void passed(void) {
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 3; i++) {
#pragma omp task
    take();
#pragma omp task
    put();
  }
}

static sem_t slots;

static void semaphores(void) {
#pragma omp parallel
  for (int i = 0; i < 6; i++) {
    sem_wait(&slots);
    add(1);
    sem_post(&slots);
  }
}

static void *run(void *unused) {
  (void)unused;
  locks();
  put();
  return NULL;
}

static void joined(void) {
  pthread_t other;
  pthread_create(&other, NULL, run, NULL);
  locks();
  take();
  pthread_join(other, NULL);
}

static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;

static void readers(void) {
#pragma omp parallel
  for (int i = 0; i < 6; i++) {
    if ((i + omp_get_thread_num()) % 3) {
      pthread_rwlock_rdlock(&shelf);
      cells[0] = (int)sum;
    } else {
      pthread_rwlock_wrlock(&shelf);
      sum++;
    }
    pthread_rwlock_unlock(&shelf);
  }
}

static pthread_barrier_t meeting;

static void meetings(void) {
#pragma omp parallel
  for (int i = 0; i < 4; i++) {
    pthread_barrier_wait(&meeting);
    add(i);
  }
}

static volatile int flags[4];

// rings passes a value from thread to thread by flags on which they spin.
static void rings(void) {
#pragma omp parallel num_threads(4)
  {
    int me = omp_get_thread_num();
    for (int i = 1; i < 4; i++) {
      while (!flags[me])
        ;
      flags[me] = 0;
      flags[(me + 1) % 4] = 1;
    }
  }
}

// grow forks teams of different sizes, so that threads are made and dismissed.
static void grow(void) {
  static int size;
  size = size % 5 + 1;
#pragma omp parallel num_threads(size)
  {
    omp_set_lock(&lock);
    sum++;
    omp_unset_lock(&lock);
#pragma omp single
    tree(1);
  }
}

static void targets(void) {
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 3; i++) {
#pragma omp target nowait map(tofrom : cells[i])
      cells[i]++;
    }
#pragma omp taskwait
  }
}

// apart has teams of two threads that OpenMP did not make.
static void apart(void) {
  pthread_t other;
  pthread_create(&other, NULL, run, NULL);
  criticals();
  tasks();
  take();
  pthread_join(other, NULL);
}

static const struct {
  const char *name;
  void (*run)(void);
} constructs[] = {
    {"tasks", tasks},         {"left", left},           {"detached", detached},     {"fulfilled", fulfilled},
    {"grouped", grouped},     {"depend", depend},       {"loops", loops},           {"urgent", urgent},
    {"locks", locks},         {"criticals", criticals}, {"ordered", ordered},       {"doacross", doacross},
    {"shared", shared},       {"nested", nested},       {"cancelled", cancelled},   {"conditions", conditions},
    {"passed", passed},       {"semaphores", semaphores}, {"joined", joined},       {"readers", readers},
    {"meetings", meetings},   {"rings", rings},         {"grow", grow},             {"targets", targets},
    {"apart", apart},
};

int main(int argc, char **argv) {
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  omp_set_max_active_levels(2);
  sem_init(&slots, 0, 2);
  pthread_barrier_init(&meeting, NULL, 4);
  flags[0] = 1;
  for (size_t i = 0; i < sizeof constructs / sizeof constructs[0]; i++) {
    if (argc < 2)
      printf("%s\n", constructs[i].name);
    else if (!strcmp(argv[1], constructs[i].name)) {
      constructs[i].run();
      puts("ready");
      fflush(stdout);
      for (;;)
        constructs[i].run();
    }
  }
  return argc > 1;
}
