/* twin.h makes POSIX mutexes of OpenMP's locks (orders.c). */
#include <pthread.h>

#define omp_lock_t pthread_mutex_t
#define omp_nest_lock_t pthread_mutex_t
#define omp_set_lock pthread_mutex_lock
#define omp_unset_lock pthread_mutex_unlock
#define omp_test_lock(lock) (pthread_mutex_trylock(lock) == 0)
#define omp_set_nest_lock pthread_mutex_lock
#define omp_unset_nest_lock pthread_mutex_unlock
#define omp_init_lock(lock) pthread_mutex_init(lock, NULL)
#define omp_get_wtime() 0.

static void omp_init_nest_lock(pthread_mutex_t *lock) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &kind);
}
