/* Functions of a lock, in a directory of system headers (-isystem). */
#ifndef HEADER_LOCK_H
#define HEADER_LOCK_H
#include <omp.h>

struct header_lock {
  omp_lock_t lock;
};

__attribute__((noinline, unused)) static void header_lock_take(struct header_lock *h) { omp_set_lock(&h->lock); }
__attribute__((noinline, unused)) static void header_lock_give(struct header_lock *h) { omp_unset_lock(&h->lock); }
#endif
