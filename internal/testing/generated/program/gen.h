/* What a generated program notes of itself: each thread, in a slot of its own, what it waits for
 * and what it holds, so that who reads the page from outside knows the truth of that moment. The
 * notes are in a file of their own, as in real programs helpers are. */
#ifndef GEN_H
#define GEN_H
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#ifdef __cplusplus
#include <functional>
#include <mutex>
#include <thread>
#include <vector>
#endif
#ifdef __cplusplus
#define GEN_C extern "C"
extern "C" {
#else
#define GEN_C extern
#endif

/* What is used of omp.h, which comes with one compiler and is missing beside another. Locks are as large
 * as those of any runtime. */
typedef struct { void *room[2]; } omp_lock_t;
typedef struct { void *room[4]; } omp_nest_lock_t;
typedef enum omp_event_handle_t { gen_largest_event = __UINTPTR_MAX__ } omp_event_handle_t;
#ifdef GEN_NO_DETACH
#define gen_fulfill(event) ((void)(event))
#else
void omp_fulfill_event(omp_event_handle_t);
#define gen_fulfill(event) omp_fulfill_event(event)
#endif
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_level(void);
void omp_set_dynamic(int);
void omp_init_lock(omp_lock_t *);
void omp_set_lock(omp_lock_t *);
void omp_unset_lock(omp_lock_t *);
int omp_test_lock(omp_lock_t *);
void omp_init_nest_lock(omp_nest_lock_t *);
void omp_set_nest_lock(omp_nest_lock_t *);
void omp_unset_nest_lock(omp_nest_lock_t *);

/* Kinds of notes. The first ones are waits. */
enum { GEN_LOCK = 1, GEN_NEST_LOCK, GEN_CRITICAL, GEN_MUTEX, GEN_BARRIER, GEN_TASKWAIT, GEN_CONDITION, GEN_ORDERED,
       GEN_RWLOCK, GEN_SEMAPHORE, GEN_POLL, GEN_THREADS,
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
void gen_handle(void); /* sets a handler of SIGUSR1 */
void gen_fork(void); /* a child, which ends; waits for it */
void gen_load(void); /* loads a library, and unloads it */
#ifdef __cplusplus
void *gen_async(void *(*f)(void *), void *x); /* f, in another thread, and the wait for its result */
#endif

extern omp_lock_t gen_lock[16];
extern omp_nest_lock_t gen_nest[4];
extern pthread_mutex_t gen_mutex[6];
extern pthread_cond_t gen_cond[3];
extern pthread_rwlock_t gen_rwlock[4];
extern sem_t gen_semaphore[4];
extern int gen_sum;  /* of reductions, whatever it is */
extern int gen_zero; /* 0, which no compiler knows */

/* What is taken is named in many ways: by elements of structures, in one array and by an array of pointers. */
struct gen_account {
  long balance;
  omp_lock_t *lock;
  omp_nest_lock_t *nest;
  pthread_mutex_t *mutex;
  pthread_rwlock_t *rwlock;
  sem_t *semaphore;
};
extern struct gen_account gen_accounts[16], *gen_book[16];

/* By a function … */
#define GEN_AT(array) \
  static __attribute__((noinline, unused)) __typeof__(&array[0]) array##_at(int n) { return &array[n]; }
GEN_AT(gen_lock)
GEN_AT(gen_nest)
GEN_AT(gen_mutex)
GEN_AT(gen_rwlock)
GEN_AT(gen_semaphore)

/* … and it is taken by a function whose last call waits, or by a pointer. */
#define GEN_TAKE(array, f) \
  static __attribute__((noinline, unused)) void thin_##f(__typeof__(&array[0]) object) { f(object); } \
  extern __typeof__(&f) via_##f;
GEN_TAKE(gen_lock, omp_set_lock)
GEN_TAKE(gen_nest, omp_set_nest_lock)
GEN_TAKE(gen_mutex, pthread_mutex_lock)
GEN_TAKE(gen_rwlock, pthread_rwlock_wrlock)
GEN_TAKE(gen_semaphore, sem_wait)
#ifdef __cplusplus
}

extern std::vector<gen_account> gen_vector; /* a copy of gen_accounts */

/* Notes around what the library's own classes take and release. */
struct gen_noted {
  int line;
  unsigned long object;
  gen_noted(int l, pthread_mutex_t *m) : line(l), object((unsigned long)m) { gen_wait(GEN_MUTEX, line, object); }
  void held() { gen_hold(GEN_MUTEX, line, object); }
  ~gen_noted() { gen_drop(object); }
};

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

/* Calls of a function by a virtual one, by a template, and out of a function that lets no exception out. */
struct gen_caller {
  virtual ~gen_caller() {}
  virtual int call(int tid, int r) = 0;
};

template <int (*f)(int, int)> struct gen_calls : gen_caller {
  int call(int tid, int r) override { return f(tid, r) + 1; }
};

template <int (*f)(int, int)> __attribute__((noinline)) int gen_template(int tid, int r) { return f(tid, r) + 1; }

template <class F> __attribute__((noinline)) int gen_noexcept(F f) noexcept { return f() + 1; }

static __attribute__((noinline)) void gen_throw(bool wanted) {
  if (wanted)
    throw 1;
}
#endif
#endif
