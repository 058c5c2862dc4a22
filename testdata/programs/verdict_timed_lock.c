/* Two threads of a team wait for locks of each other: "0" mutexes, "1" mutexes with a limit of another clock, "2"
 * read-write locks for writing, "3" for reading. "4": mutexes, and only the wait of thread 0 may have a limit. "5":
 * thread 0 waits for its own mutex, and thread 1 for that of thread 0.
 * A second argument of 1: the waits have a time limit, after which the threads release their locks.
 *
 * The threads are those of a child; its parent only waits. */
#include "truth.h"

static pthread_mutex_t plates[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t books[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};

static struct timespec later(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  at.tv_sec += TRUTH_LIMIT_S;
  return at;
}

static void lock(pthread_mutex_t *m, int limited, int monotonic) {
  struct timespec at = later(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME);
  if (!limited)
    pthread_mutex_lock(m);
  else if (monotonic)
    pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at);
  else
    pthread_mutex_timedlock(m, &at);
}

static void open_book(pthread_rwlock_t *book, int limited, int reads) {
  struct timespec at = later(CLOCK_REALTIME);
  if (limited && reads)
    pthread_rwlock_timedrdlock(book, &at);
  else if (limited)
    pthread_rwlock_timedwrlock(book, &at);
  else if (reads)
    pthread_rwlock_rdlock(book);
  else
    pthread_rwlock_wrlock(book);
}

int main(int argc, char **argv) {
  long way = truth_arg(argc, argv, 1, 0);
  int limited = (int)truth_arg(argc, argv, 2, 0);
  truth_child(2);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num(), books_used = way == 2 || way == 3;
    if (books_used)
      pthread_rwlock_wrlock(&books[me]);
    else if (way != 5 || me == 0)
      pthread_mutex_lock(&plates[me]);
#pragma omp barrier
    truth_watched(2);
    if (books_used)
      open_book(&books[1 - me], limited, way == 3);
    else if (way == 5)
      lock(&plates[0], limited && me == 0, 0);
    else
      lock(&plates[1 - me], limited && (way != 4 || me == 0), way == 1);
    if (books_used)
      pthread_rwlock_unlock(&books[me]);
    else
      pthread_mutex_unlock(&plates[me]);
  }
  return 0;
}
