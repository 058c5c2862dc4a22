/* Deadlocks of a read-write lock: "0" its writer is at a barrier that another thread, which
 * waits for the lock, does not reach; "1" it and a lock are acquired in different orders;
 * "2" a reader acquires it for writing; "3" as "1", but it was acquired for reading, under
 * an if; "4" as "3", but it is a lock; "5" as "4", and the other thread acquires it, and
 * releases it, under an if as well. A second argument of 1: the holder works. */
#include "truth.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static omp_lock_t ledger, page;
static int way, works, have;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

/* meet returns when both threads hold their first lock. */
static void meet(void) {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(1000);
}

__attribute__((noinline)) static void publish(void) {
  pthread_rwlock_wrlock(&table);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
  if (way == 1) {
    omp_set_lock(&ledger);
    omp_unset_lock(&ledger);
  }
}

__attribute__((noinline)) static void consult(void) {
  meet();
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
}

__attribute__((noinline)) static void enter(void) {
  omp_set_lock(&ledger);
  meet();
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
  omp_unset_lock(&ledger);
}

__attribute__((noinline)) static void promote(void) {
  pthread_rwlock_rdlock(&table);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_wrlock(&table);
  pthread_rwlock_unlock(&table);
  pthread_rwlock_unlock(&table);
}

__attribute__((noinline)) static void change(void) {
  meet();
  TRUTH_SLEEP("", 0, 0);
  if (works) {
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
  }
}

/* guarded takes under an if the lock that overwrite waits for. */
__attribute__((noinline)) static void guarded(int reads) {
  if (reads)
    pthread_rwlock_rdlock(&table);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &ledger, 0);
  omp_set_lock(&ledger);
  omp_unset_lock(&ledger);
  if (reads)
    pthread_rwlock_unlock(&table);
}

__attribute__((noinline)) static void overwrite(void) {
  omp_set_lock(&ledger);
  meet();
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_wrlock(&table);
  pthread_rwlock_unlock(&table);
  omp_unset_lock(&ledger);
}

/* page_of and next_page are the same with a lock. */
__attribute__((noinline)) static void page_of(int locks) {
  if (locks)
    omp_set_lock(&page);
  meet();
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", &ledger, 0);
  omp_set_lock(&ledger);
  omp_unset_lock(&ledger);
  if (locks)
    omp_unset_lock(&page);
}

__attribute__((noinline)) static void next_page(void) {
  omp_set_lock(&ledger);
  meet();
  TRUTH_WAIT("wait_lock", &page, 0);
  omp_set_lock(&page);
  omp_unset_lock(&page);
  omp_unset_lock(&ledger);
}

/* other_page takes it under an if itself: there is no way on which it is left. */
__attribute__((noinline)) static void other_page(int locks) {
  omp_set_lock(&ledger);
  meet();
  TRUTH_WAIT("wait_lock", &page, 0);
  if (locks)
    omp_set_lock(&page);
  have++;
  if (locks)
    omp_unset_lock(&page);
  omp_unset_lock(&ledger);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&ledger);
  omp_init_lock(&page);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    if (way > 2) {
      if (omp_get_thread_num() == 0)
        way == 3 ? guarded(works + 1) : page_of(works + 1);
      else
        way == 3 ? overwrite() : way == 4 ? next_page() : other_page(works + 1);
    } else if (way == 2) {
      if (omp_get_thread_num() == 0)
        promote();
      else
        change();
    } else if (omp_get_thread_num() == 0) {
      publish();
    } else if (way == 1) {
      enter();
    } else {
      consult();
    }
#pragma omp barrier
    if (omp_get_thread_num() == 0 && way < 2)
      pthread_rwlock_unlock(&table);
  }
  return 0;
}
