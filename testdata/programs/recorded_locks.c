/* Locks whose holders the code does not show: the functions that acquire two locks end in the call for
 * the second one, so that a waiting thread has no frame of them. 0: a deadlock of three threads. 1,
 * its healthy twin: one of them holds its lock and works. 2: the thread that released a lock did not
 * acquire it, and the holder acquired it by a function that it looked up itself. 3: one caller of a
 * function leaves the lock with its thread, which arrives at a barrier; another thread waits for the
 * lock, and so the barrier waits for it. 4, its healthy twin: that thread holds the lock and works. */
#include <dlfcn.h>

#include "truth.h"

enum { THREADS = 3 };

struct account {
  long balance;
  omp_lock_t lock;
};

static struct account *accounts;
static volatile int held, passed, taken;
static volatile int go_on = 1;

__attribute__((noinline)) static void all_held(void) {
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < THREADS) usleep(100);
}

__attribute__((noinline)) static void open_both(struct account *from, struct account *to) {
  omp_set_lock(&from->lock);
  all_held();
  TRUTH_WAIT("wait_lock", &to->lock, 0);
  omp_set_lock(&to->lock);
}

__attribute__((noinline)) static void close_both(struct account *from, struct account *to) {
  omp_unset_lock(&to->lock);
  omp_unset_lock(&from->lock);
}

__attribute__((noinline)) static void works(void) {
  if (go_on) TRUTH_HOLD("work_parallel");
}

static void transfer(int me, int healthy) {
  struct account *from = &accounts[me], *to = &accounts[(me + 1) % THREADS];
  if (healthy && me == 0) {
    omp_set_lock(&from->lock);
    all_held();
    works();
    omp_unset_lock(&from->lock);
    return;
  }
  open_both(from, to);
  close_both(from, to);
}

__attribute__((noinline)) static void ask(omp_lock_t *lock) {
  TRUTH_WAIT("wait_lock", lock, 0);
  omp_set_lock(lock);
}

static void pass(int me) {
  omp_lock_t *first = &accounts[0].lock, *second = &accounts[1].lock;
  void *libgomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *found = libgomp != NULL ? dlsym(libgomp, "omp_set_lock") : dlsym(RTLD_DEFAULT, "omp_set_lock");
  void (*set)(omp_lock_t *) = (void (*)(omp_lock_t *))found;
  switch (me) {
  case 0:
    omp_set_lock(first);
    truth_set(&held);
    truth_until(&taken);
    ask(second);
    omp_unset_lock(second);
    break;
  case 1:
    omp_set_lock(second);
    truth_until(&held);
    omp_unset_lock(first);
    truth_set(&passed);
    truth_until(&taken);
    ask(first);
    omp_unset_lock(first);
    omp_unset_lock(second);
    break;
  default:
    truth_until(&passed);
    set(first);
    truth_set(&taken);
    works();
    omp_unset_lock(first);
  }
}

static void enter(omp_lock_t *lock, int keep) {
  omp_set_lock(lock);
  if (!keep) omp_unset_lock(lock);
}

static void keep(int me, int healthy) {
  omp_lock_t *door = &accounts[0].lock;
  while (me == 2 && __atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2) usleep(100);
  enter(door, me == 2);
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  if (me == 2) {
    truth_set(&taken);
    if (healthy) {
      works();
      omp_unset_lock(door);
    }
  }
  truth_until(&taken);
  if (me == 1) {
    TRUTH_WAIT("wait_lock", door, 0);
    enter(door, 0);
  } else {
    TRUTH_WAIT("wait_barrier_explicit", 0, 0);
  }
#pragma omp barrier
}

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  int how = (int)truth_arg(argc, argv, 1, 0);
  accounts = calloc(THREADS, sizeof *accounts);
  for (int i = 0; i < THREADS; i++) omp_init_lock(&accounts[i].lock);
  pthread_create(&observer, NULL, look, (void *)(long)THREADS);
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (how == 2)
      pass(omp_get_thread_num());
    else if (how > 2)
      keep(omp_get_thread_num(), how == 4);
    else
      transfer(omp_get_thread_num(), how);
  }
  return 0;
}
