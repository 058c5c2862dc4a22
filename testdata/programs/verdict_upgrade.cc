// A thread that holds a read-write lock for reading acquires it for writing: "0" by std::shared_lock and
// std::unique_lock, "1" by pthread_rwlock_rdlock and pthread_rwlock_wrlock, "2" as "0", by each of two threads; "3" as
// "1" and "4" as "2", where the code would release it in between if there were more rows.
// A second argument of 1: it releases it first, and waits for another thread, which reads and works.
#include "truth.h"
#include <mutex>
#include <shared_mutex>

static std::shared_mutex table;
static pthread_rwlock_t index_of = PTHREAD_RWLOCK_INITIALIZER;
static int way, healthy, have, rows;

static void *look(void *) {
  truth_await(2);
  truth_end();
  return NULL;
}

/* meet returns when both threads hold their first lock. */
static void meet() {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(1000);
}

__attribute__((noinline)) static void insert(int row) {
  std::shared_lock<std::shared_mutex> reads(table);
  meet();
  if (rows <= row) {
    TRUTH_SLEEP("", 0, 0);
    std::unique_lock<std::shared_mutex> writes(table);
    rows++;
  }
}

__attribute__((noinline)) static void enter(int row) {
  pthread_rwlock_rdlock(&index_of);
  meet();
  if (rows <= row) {
    TRUTH_SLEEP("", 0, 0);
    pthread_rwlock_wrlock(&index_of);
    rows++;
    pthread_rwlock_unlock(&index_of);
  }
  pthread_rwlock_unlock(&index_of);
}

/* renew and reenter release it before, if there are more rows: the others read these. */
__attribute__((noinline)) static void renew(int row) {
  std::shared_lock<std::shared_mutex> reads(table);
  meet();
  if (rows > row)
    reads.unlock();
  TRUTH_SLEEP("", 0, 0);
  std::unique_lock<std::shared_mutex> writes(table);
  rows++;
}

__attribute__((noinline)) static void reenter(int row) {
  pthread_rwlock_rdlock(&index_of);
  meet();
  if (rows > row)
    pthread_rwlock_unlock(&index_of);
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_wrlock(&index_of);
  rows++;
  pthread_rwlock_unlock(&index_of);
}

/* insert_after and enter_after release it before they acquire it again. */
__attribute__((noinline)) static void insert_after(int row) {
  {
    std::shared_lock<std::shared_mutex> reads(table);
    meet();
    if (rows > row)
      return;
  }
  TRUTH_SLEEP("", 0, 0);
  std::unique_lock<std::shared_mutex> writes(table);
  rows++;
}

__attribute__((noinline)) static void enter_after(int row) {
  pthread_rwlock_rdlock(&index_of);
  meet();
  int full = rows > row;
  pthread_rwlock_unlock(&index_of);
  if (full)
    return;
  TRUTH_SLEEP("", 0, 0);
  pthread_rwlock_wrlock(&index_of);
  rows++;
  pthread_rwlock_unlock(&index_of);
}

__attribute__((noinline)) static int count() {
  if (!healthy) {
    meet();
    TRUTH_SLEEP("", 0, 0);
    return 0;
  }
  pthread_rwlock_rdlock(&index_of);
  std::shared_lock<std::shared_mutex> reads(table);
  meet();
  TRUTH_HOLD("work_parallel");
  int n = rows;
  pthread_rwlock_unlock(&index_of);
  return n;
}

int main(int argc, char **argv) {
  pthread_t observer;
  int sum = 0;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    if (omp_get_thread_num() == 0 || way % 2 == 0 && way > 0 && !healthy) {
      if (way > 2) /* a healthy one has more rows */
        way == 3 ? reenter(-healthy) : renew(-healthy);
      else
        healthy ? way == 1 ? enter_after(0) : insert_after(0) : way == 1 ? enter(0) : insert(0);
    } else {
      sum += count();
    }
  }
  return sum;
}
