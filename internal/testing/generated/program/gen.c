#define _GNU_SOURCE
#include "gen.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct gen_page page = {.magic = "GENERATED PAGE"};
static __thread struct gen_slot *me;

omp_lock_t gen_lock[16];
omp_nest_lock_t gen_nest[4];
pthread_mutex_t gen_mutex[6];
pthread_rwlock_t gen_rwlock[4];
sem_t gen_semaphore[4];
pthread_cond_t gen_cond[3];
int gen_sum, gen_zero;

#define ACCOUNT(n) {100, &gen_lock[n], &gen_nest[n % 4], &gen_mutex[n % 6], &gen_rwlock[n % 4], &gen_semaphore[n % 4]}
struct gen_account gen_accounts[16] = {ACCOUNT(0), ACCOUNT(1), ACCOUNT(2),  ACCOUNT(3),  ACCOUNT(4),  ACCOUNT(5),
                                       ACCOUNT(6), ACCOUNT(7), ACCOUNT(8),  ACCOUNT(9),  ACCOUNT(10), ACCOUNT(11),
                                       ACCOUNT(12), ACCOUNT(13), ACCOUNT(14), ACCOUNT(15)};
struct gen_account *gen_book[16];

#define VIA(f) __typeof__(&f) via_##f = f;
VIA(omp_set_lock)
VIA(omp_set_nest_lock)
VIA(pthread_mutex_lock)
VIA(pthread_rwlock_wrlock)
VIA(sem_wait)

static pthread_key_t ends; /* its destructor frees the slot of a thread that ends */

static void free_slot(void *slot) { __atomic_store_n(&((struct gen_slot *)slot)->lwp, 0, __ATOMIC_SEQ_CST); }

static struct gen_slot *take_slot(void) {
  int own = (int)syscall(SYS_gettid);
  for (int i = 0; i < GEN_SLOTS; i++) {
    int none = 0;
    struct gen_slot *s = &page.slots[i];
    if (__atomic_compare_exchange_n(&s->lwp, &none, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      s->depth = s->holds = s->thread_num = s->team_size = s->level = 0;
      pthread_setspecific(ends, s);
      return s;
    }
  }
  _exit(4);
}

static struct gen_slot *open_slot(void) {
  if (!me)
    me = take_slot();
  __atomic_store_n(&me->seq, me->seq + 1, __ATOMIC_SEQ_CST);
  return me;
}

static void close_slot(struct gen_slot *s) { __atomic_store_n(&s->seq, s->seq + 1, __ATOMIC_SEQ_CST); }

static void push(struct gen_slot *s, int kind, int line, unsigned long object) {
  if (s->depth >= GEN_DEPTH)
    _exit(5);
  s->notes[s->depth++] = (struct gen_note){kind, line, object};
}

void gen_begin(int kind, int line) {
  struct gen_slot *s = open_slot();
  if (kind == GEN_REGION) {
    s->thread_num = omp_get_thread_num();
    s->team_size = omp_get_num_threads();
    s->level = omp_get_level();
    if (s->thread_num) { /* a thread of the pool */
      s->depth = 0;
    }
  }
  push(s, kind, line, 0);
  close_slot(s);
}

void gen_end(void) {
  struct gen_slot *s = open_slot();
  s->depth--;
  close_slot(s);
}

void gen_last(int line) {
  struct gen_slot *s = open_slot();
  s->notes[s->depth - 1] = (struct gen_note){GEN_REGION_END, line, 0};
  close_slot(s);
}

int gen_depth(void) { return me ? me->depth : 0; }

void gen_joined(int depth) {
  struct gen_slot *s = open_slot();
  s->depth = depth;
  s->thread_num = omp_get_thread_num();
  s->team_size = omp_get_num_threads();
  s->level = omp_get_level();
  close_slot(s);
}

void gen_wait(int kind, int line, unsigned long object) {
  struct gen_slot *s = open_slot();
  push(s, kind, line, object);
  close_slot(s);
}

void gen_got(void) { gen_end(); }

void gen_hold(int kind, int line, unsigned long object) {
  struct gen_slot *s = open_slot();
  if (s->depth > 0 && s->notes[s->depth - 1].object == object)
    s->depth--;
  if (s->holds >= GEN_HOLDS)
    _exit(6);
  s->held[s->holds++] = (struct gen_note){kind, line, object};
  close_slot(s);
}

void gen_drop(unsigned long object) {
  struct gen_slot *s = open_slot();
  for (int i = s->holds - 1; i >= 0; i--)
    if (s->held[i].object == object) {
      memmove(&s->held[i], &s->held[i + 1], (size_t)(s->holds - i - 1) * sizeof s->held[0]);
      s->holds--;
      break;
    }
  close_slot(s);
}

void gen_fork(void) {
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  if (child > 0)
    waitpid(child, NULL, 0);
}

void gen_load(void) {
  void *library = dlopen("libresolv.so.2", RTLD_NOW);
  if (library)
    dlclose(library);
}

static void work_in_handler(int number) {
  static volatile int last;
  last = number;
}

void gen_handle(void) { signal(SIGUSR1, work_in_handler); }

static long now(void) { /* microseconds */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

void gen_work(int microseconds) {
  static volatile long sink;
  for (int i = 0; i < microseconds * 200; i++)
    sink = i;
}

void gen_meet(int *word, int n) {
  long end = now() + 200000;
  __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < n && now() < end)
    sched_yield();
}

int gen_go_on(int milliseconds) {
  static long begin;
  if (!begin)
    begin = now();
  return now() < begin + milliseconds * 1000L;
}

void gen_start(void) {
  alarm(3600); /* whoever started it may be gone */
  pthread_key_create(&ends, free_slot);
  for (int i = 0; i < 16; i++) {
    omp_init_lock(&gen_lock[i]);
    gen_book[i] = &gen_accounts[i];
  }
  for (int i = 0; i < 4; i++)
    omp_init_nest_lock(&gen_nest[i]);
  for (int i = 0; i < 6; i++)
    pthread_mutex_init(&gen_mutex[i], NULL);
  for (int i = 0; i < 4; i++) {
    pthread_rwlock_init(&gen_rwlock[i], NULL);
    sem_init(&gen_semaphore[i], 0, i < 2);
  }
  for (int i = 0; i < 3; i++)
    pthread_cond_init(&gen_cond[i], NULL);
  printf("PAGE %lx PID %d gen_lock %lx gen_nest %lx gen_mutex %lx gen_cond %lx gen_rwlock %lx gen_semaphore %lx\n",
         (unsigned long)&page, (int)getpid(), (unsigned long)gen_lock, (unsigned long)gen_nest,
         (unsigned long)gen_mutex, (unsigned long)gen_cond, (unsigned long)gen_rwlock, (unsigned long)gen_semaphore);
  fflush(stdout);
}
