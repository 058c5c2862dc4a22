/* Threads wait for a lock in memory that processes share, and a child has it: "0" a mutex, "1" a read-write lock
 * that the child writes, "2" one that it reads, "3" a robust mutex, "4" a spin lock. */
#include "truth.h"

static struct {
  pthread_mutex_t mutex;
  pthread_rwlock_t table;
  pthread_spinlock_t word;
  int held;
} *shared;
static long way;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

static void *acquire(void *unused) {
  (void)unused;
  if (way == 1)
    pthread_rwlock_wrlock(&shared->table);
  else if (way == 2)
    pthread_rwlock_rdlock(&shared->table);
  else if (way == 4)
    pthread_spin_lock(&shared->word);
  else
    pthread_mutex_lock(&shared->mutex);
  __atomic_store_n(&shared->held, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void release(void) {
  if (way == 1 || way == 2)
    pthread_rwlock_unlock(&shared->table);
  else if (way == 4)
    pthread_spin_unlock(&shared->word);
  else
    pthread_mutex_unlock(&shared->mutex);
}

__attribute__((noinline)) static void await_lock(void) {
  if (way == 4)
    TRUTH_WAIT("work_parallel", 0, 0);
  else
    TRUTH_SLEEP("work_parallel", 0, 0);
  if (way == 1 || way == 2)
    pthread_rwlock_wrlock(&shared->table);
  else if (way == 4)
    pthread_spin_lock(&shared->word);
  else
    pthread_mutex_lock(&shared->mutex);
  release();
}

static void set_up(void) {
  pthread_mutexattr_t of_mutex;
  pthread_rwlockattr_t of_table;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    _exit(3);
  pthread_mutexattr_init(&of_mutex);
  pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
  if (way == 3)
    pthread_mutexattr_setrobust(&of_mutex, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared->mutex, &of_mutex);
  pthread_rwlockattr_init(&of_table);
  pthread_rwlockattr_setpshared(&of_table, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&shared->table, &of_table);
  pthread_spin_init(&shared->word, PTHREAD_PROCESS_SHARED);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  set_up();
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    acquire(NULL);
    for (;;)
      pause();
  }
  while (!__atomic_load_n(&shared->held, __ATOMIC_SEQ_CST))
    usleep(1000);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  await_lock();
  return 0;
}
