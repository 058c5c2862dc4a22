/* What a generated program notes of itself: each thread, in a slot of its own, what it waits for
 * and what it holds, so that who reads the page from outside knows the truth of that moment. The
 * notes are in a file of their own, as in real programs helpers are. */
#ifndef GEN_H
#define GEN_H
#include <pthread.h>
#include <semaphore.h>
#ifdef __cplusplus
#include <bits/std_mutex.h>
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* What is used of omp.h, which comes with one compiler and is missing beside another. Locks are as large
 * as those of any runtime. */
typedef struct { void *room[2]; } omp_lock_t;
typedef struct { void *room[4]; } omp_nest_lock_t;
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_level(void);
void omp_init_lock(omp_lock_t *);
void omp_set_lock(omp_lock_t *);
void omp_unset_lock(omp_lock_t *);
void omp_init_nest_lock(omp_nest_lock_t *);
void omp_set_nest_lock(omp_nest_lock_t *);
void omp_unset_nest_lock(omp_nest_lock_t *);

/* Kinds of notes. The first ones are waits. */
enum { GEN_LOCK = 1, GEN_NEST_LOCK, GEN_CRITICAL, GEN_MUTEX, GEN_BARRIER, GEN_TASKWAIT, GEN_CONDITION, GEN_ORDERED,
       GEN_RWLOCK, GEN_SEMAPHORE,
       GEN_REGION = 32, GEN_REGION_END, GEN_TASK, GEN_CONSTRUCT };

#define GEN_SLOTS 64
#define GEN_DEPTH 24
#define GEN_HOLDS 16

struct gen_note { int kind, line; unsigned long object; };
struct gen_slot {
  unsigned seq; /* odd while the slot is written */
  int lwp, thread_num, team_size, level, depth, holds, pad;
  struct gen_note notes[GEN_DEPTH]; /* the innermost last */
  struct gen_note held[GEN_HOLDS];
};
struct gen_page { char magic[16]; struct gen_slot slots[GEN_SLOTS]; };

void gen_begin(int kind, int line);             /* a construct or a body begins */
void gen_end(void);                             /* it ends */
void gen_last(int line);                        /* the body of a region is over, its barrier comes */
int gen_depth(void);                            /* before a region is forked … */
void gen_joined(int depth);                     /* … and behind it */
void gen_wait(int kind, int line, unsigned long object);
void gen_got(void);                             /* the wait is over */
void gen_hold(int kind, int line, unsigned long object); /* the wait is over, and it has what it waited for */
void gen_drop(unsigned long object);            /* it has released that */
void gen_work(int microseconds);
void gen_meet(int *word, int n);                /* wait, but not for ever, until n threads are here */
int gen_go_on(int milliseconds);                /* reports whether the program is younger than that */
void gen_start(void);

extern omp_lock_t gen_lock[8];
extern omp_nest_lock_t gen_nest[4];
extern pthread_mutex_t gen_mutex[4];
extern pthread_cond_t gen_cond[2];
extern pthread_rwlock_t gen_rwlock[2];
extern sem_t gen_semaphore[2];
extern int gen_sum; /* of reductions, whatever it is */
#ifdef __cplusplus
}

/* A lock that is released where its scope is left, also by an exception. */
struct gen_guard {
  omp_lock_t *lock;
  gen_guard(int line, omp_lock_t *l) : lock(l) {
    gen_wait(GEN_LOCK, line, (unsigned long)lock);
    omp_set_lock(lock);
    gen_hold(GEN_LOCK, line, (unsigned long)lock);
  }
  ~gen_guard() {
    omp_unset_lock(lock);
    gen_drop((unsigned long)lock);
  }
};

/* The same for a mutex of C++, which is one of POSIX. */
struct gen_mutex_guard {
  std::mutex *mutex;
  gen_mutex_guard(int line, pthread_mutex_t *m) : mutex(reinterpret_cast<std::mutex *>(m)) {
    gen_wait(GEN_MUTEX, line, (unsigned long)mutex);
    mutex->lock();
    gen_hold(GEN_MUTEX, line, (unsigned long)mutex);
  }
  ~gen_mutex_guard() {
    mutex->unlock();
    gen_drop((unsigned long)mutex);
  }
};

static __attribute__((noinline)) void gen_throw(bool wanted) {
  if (wanted)
    throw 1;
}
#endif
#endif
