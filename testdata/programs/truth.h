/* truth.h: the answers of the OpenMP runtime in every thread of a test program.
 *
 * Each thread records the results of omp_get_*, then moves to its place: it blocks in
 * the runtime (TRUTH_WAIT, TRUTH_SLEEP) or stays in user code (truth_hold). One thread calls
 * truth_trigger(n): it waits until n other threads have really reached their places, writes
 * the truth as JSON lines to $OMPD_TRUTH, and then crashes (abort, segv) or waits to be inspected.
 *
 * Modes (argv[1]): abort, segv: the program kills itself with a core; wait: it writes READY to
 * the descriptor in $OMPD_READY_FD and stays. No function waits for a time: "in place" is a
 * condition that is read from the kernel (see truth_in_place).
 */
#ifndef TRUTH_H
#define TRUTH_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pause /* aarch64, where pause() calls ppoll */
#define SYS_pause SYS_ppoll
#endif

#define TRUTH_THREADS 4096 /* most threads a program may register */
#define TRUTH_LEVELS 8     /* deepest nesting that is recorded */
#define TRUTH_LIMIT_S 3600 /* a program that is forgotten ends itself after this time */

enum truth_place {
  TRUTH_NOWHERE, /* registered, or not even that: on its way */
  TRUTH_SPINNING, /* enters a wait of the runtime that may spin or sleep */
  TRUTH_ASLEEP,  /* enters a wait of the runtime that ends in a futex */
  TRUTH_HELD,    /* stays in user code, in pause() */
  TRUTH_READS    /* enters read(2) */
};

struct truth_thread {
  int lwp, root, openmp;
  unsigned long pthread;
  int thread_num, team_size, level, active_level;
  int ancestor[TRUTH_LEVELS], size_at[TRUTH_LEVELS], line_at[TRUTH_LEVELS];
  int in_parallel, in_final, max_threads, dynamic, max_active_levels;
  int sched_kind, sched_chunk, proc_bind, thread_limit, default_device, cancellation, num_procs;
  int team_num, num_teams, place_num, max_task_priority;
  size_t stacksize;
  const char *state, *function, *file, *role; /* role: NULL if it follows from the rest */
  int line;
  uint64_t wait_id;
  volatile int place;
  struct timespec entered; /* processor time of the thread when it entered its wait */
  char seen[128];          /* its line of /proc/self/task/N/syscall, one look ago */
};

static struct truth_thread truth_threads[TRUTH_THREADS];
static int truth_count;
static __thread struct truth_thread *truth_me;
static const char *truth_mode = "wait";
static char truth_extra[16384]; /* JSON lines about tasks */
static const char *truth_program;

static inline int truth_tid(void) { return (int)syscall(SYS_gettid); }

/* truth_init is called first in main. It does not touch the OpenMP runtime. */
static inline void truth_init(int argc, char **argv, const char *file) {
  truth_program = file;
  if (argc > 1)
    truth_mode = argv[1];
  alarm(TRUTH_LIMIT_S);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* truth_arg is the n-th number after the mode, or def. */
static inline long truth_arg(int argc, char **argv, int n, long def) {
  return argc > n + 1 ? atol(argv[n + 1]) : def;
}

static inline struct truth_thread *truth_slot(void) {
  if (!truth_me) {
    int i = __atomic_fetch_add(&truth_count, 1, __ATOMIC_RELAXED);
    if (i >= TRUTH_THREADS)
      abort();
    truth_me = &truth_threads[i];
    truth_me->lwp = truth_tid();
    truth_me->pthread = (unsigned long)pthread_self();
    truth_me->root = getpid();
    truth_me->state = "";
  }
  return truth_me;
}

/* truth_ask writes down the runtime's answers in this thread now. */
static inline struct truth_thread *truth_ask(void) {
  struct truth_thread *t = truth_slot();
  omp_sched_t kind;
  t->openmp = 1;
  t->thread_num = omp_get_thread_num();
  t->team_size = omp_get_num_threads();
  t->level = omp_get_level();
  t->active_level = omp_get_active_level();
  for (int i = 0; i <= t->level && i < TRUTH_LEVELS; i++) {
    t->ancestor[i] = omp_get_ancestor_thread_num(i);
    t->size_at[i] = omp_get_team_size(i);
  }
  t->in_parallel = omp_in_parallel();
  t->in_final = omp_in_final();
  t->max_threads = omp_get_max_threads();
  t->dynamic = omp_get_dynamic();
  t->max_active_levels = omp_get_max_active_levels();
  omp_get_schedule(&kind, &t->sched_chunk);
  t->sched_kind = (int)kind;
  t->proc_bind = (int)omp_get_proc_bind();
  t->thread_limit = omp_get_thread_limit();
  t->default_device = omp_get_default_device();
  t->cancellation = omp_get_cancellation();
  t->num_procs = omp_get_num_procs();
  t->team_num = omp_get_team_num();
  t->num_teams = omp_get_num_teams();
  t->place_num = omp_get_place_num();
  t->max_task_priority = omp_get_max_task_priority();
  t->stacksize = kmp_get_stacksize_s();
  return t;
}

/* truth_region notes that this thread is a member of the region that it is now in. */
static inline void truth_region(int line, int root) {
  struct truth_thread *t = truth_slot();
  int level = omp_get_level();
  t->root = root;
  if (level < TRUTH_LEVELS)
    t->line_at[level] = line;
}

static inline void truth_enter(enum truth_place place, const char *state, uint64_t wait_id,
                               const char *function, const char *file, int line) {
  struct truth_thread *t = truth_ask();
  t->state = state;
  t->wait_id = wait_id;
  t->function = function;
  t->file = file;
  t->line = line;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t->entered);
  __atomic_store_n(&t->place, place, __ATOMIC_RELEASE);
}

/* TRUTH_ENV(name, value) at file scope sets a control of the runtime before main: code of main may
 * start the runtime before its first statement. */
#define TRUTH_ENV(name, value) \
  __attribute__((constructor)) static void truth_env(void) { setenv(name, value, 1); }
/* TRUTH_REGION(line of the pragma): first statement in a parallel region. */
#define TRUTH_REGION(line) truth_region(line, getpid())
/* TRUTH_WAIT: the thread enters, on the given line, a wait that may spin for ever. */
#define TRUTH_WAIT(state, wait_id, line) \
  truth_enter(TRUTH_SPINNING, state, (uint64_t)(uintptr_t)(wait_id), __func__, __FILE__, line)
/* TRUTH_SLEEP: the same for a wait that ends in a futex (barriers, the pool). */
#define TRUTH_SLEEP(state, wait_id, line) \
  truth_enter(TRUTH_ASLEEP, state, (uint64_t)(uintptr_t)(wait_id), __func__, __FILE__, line)
/* TRUTH_JOIN: the thread goes to the barrier at the end of its region. It has returned from the
 * region's function by then, so only thread 0 has a user frame: that of the construct. */
#define TRUTH_JOIN(line) truth_join(__func__, __FILE__, line, TRUTH_ASLEEP)
/* TRUTH_JOIN_TASKS: the same in a region with tasks, where the runtime spins. */
#define TRUTH_JOIN_TASKS(line) truth_join(__func__, __FILE__, line, TRUTH_SPINNING)
/* TRUTH_NEVER: after a wait that must not end. It also keeps the compiler from making
 * the call of the runtime a jump, which would leave no frame of user code. */
#define TRUTH_NEVER() _exit(4)
/* TRUTH_HOLD: the thread stays in user code for ever. */
#define TRUTH_HOLD(state) truth_hold(state, 1)

static inline void truth_join(const char *function, const char *file, int line,
                              enum truth_place place) {
  int primary = omp_get_thread_num() == 0;
  truth_enter(place, "wait_barrier_implicit_parallel", 0, primary ? function : "",
              primary ? file : "", primary ? line : 0);
}

__attribute__((noinline, unused)) static void truth_hold(const char *state, int openmp) {
  if (openmp) {
    truth_enter(TRUTH_HELD, state, 0, "truth_hold", __FILE__, 0);
  } else {
    truth_slot()->function = "truth_hold";
    truth_me->file = __FILE__;
    truth_me->state = state;
  }
  __atomic_store_n(&truth_me->line, __LINE__ + 3, __ATOMIC_RELAXED);
  __atomic_store_n(&truth_me->place, TRUTH_HELD, __ATOMIC_RELEASE);
  for (;;)
    pause();
}

/* truth_until waits in user code until another thread has set the flag. */
static inline void truth_until(volatile int *flag) {
  struct timespec look = {0, 200000};
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
    nanosleep(&look, NULL);
}

static inline void truth_set(volatile int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

/* truth_still reports whether a thread is in a system call, and was there with the same registers at
 * the last look; seen has the line. */
static inline int truth_still(int lwp, int call, char *seen, size_t size) {
  char path[64], now[128] = "";
  int same;
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", lwp);
  FILE *f = fopen(path, "r");
  if (!f)
    return 0;
  if (!fgets(now, sizeof now, f))
    now[0] = 0;
  fclose(f);
  same = !strcmp(now, seen);
  snprintf(seen, size, "%s", now);
  return same && now[0] >= '0' && now[0] <= '9' && atoi(now) == call;
}

/* truth_spins reports whether the runtime's waits are set to spin for ever. */
static inline int truth_spins(void) {
  const char *count = getenv("GOMP_SPINCOUNT");
  return count && !strcmp(count, "infinite");
}

/* truth_in_place reports whether t has reached its place: in pause(), in a futex, or, where the
 * runtime may spin, after 5 ms of processor time in the wait. */
static inline int truth_in_place(struct truth_thread *t) {
  int place = __atomic_load_n(&t->place, __ATOMIC_ACQUIRE);
  struct timespec used;
  clockid_t clock;
  if (place == TRUTH_NOWHERE)
    return 0;
  if ((place == TRUTH_SPINNING || (place == TRUTH_ASLEEP && truth_spins())) && !pthread_getcpuclockid((pthread_t)t->pthread, &clock) &&
      !clock_gettime(clock, &used) &&
      (used.tv_sec - t->entered.tv_sec) * 1000000000L + used.tv_nsec - t->entered.tv_nsec > 5000000)
    return 1;
  long call = place == TRUTH_HELD ? SYS_pause : place == TRUTH_READS ? SYS_read : SYS_futex;
  return truth_still(t->lwp, call, t->seen, sizeof t->seen);
}

/* truth_await returns when n threads other than the caller are in place. */
static inline void truth_await(int n) {
  struct timespec look = {0, 1000000};
  for (;;) {
    int there = 0, count = __atomic_load_n(&truth_count, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count; i++)
      if (&truth_threads[i] != truth_me)
        there += truth_in_place(&truth_threads[i]);
    if (there >= n)
      return;
    nanosleep(&look, NULL);
  }
}

/* truth_lwps lists all threads of the process; returns their number, at most n. */
static inline int truth_lwps(int *lwps, int n) {
  DIR *dir = opendir("/proc/self/task");
  struct dirent *e;
  int found = 0;
  if (!dir)
    _exit(3);
  while (found < n && (e = readdir(dir)))
    if (e->d_name[0] != '.')
      lwps[found++] = atoi(e->d_name);
  closedir(dir);
  return found;
}

/* truth_settle returns when every other thread of the process, registered or not, sleeps in a
 * futex: for threads that the runtime starts and that never run user code. */
static inline void truth_settle(void) {
  static int lwps[TRUTH_THREADS];
  static char seen[TRUTH_THREADS][128];
  struct timespec look = {0, 1000000};
  int n, still;
  do {
    nanosleep(&look, NULL);
    n = truth_lwps(lwps, TRUTH_THREADS);
    still = 0;
    for (int i = 0; i < n; i++)
      still += lwps[i] == truth_tid() || truth_still(lwps[i], SYS_futex, seen[i], sizeof seen[i]);
  } while (still < n);
}

static inline void truth_tasks_of(const char *kind, const char *state, long count, int line,
                                  int lwp) {
  size_t n = strlen(truth_extra);
  snprintf(truth_extra + n, sizeof truth_extra - n,
           "{\"kind\":\"task\",\"task_kind\":\"%s\",\"state\":\"%s\",\"count\":%ld,"
           "\"line\":%d,\"lwp\":%d}\n",
           kind, state, count, line, lwp);
}

/* truth_tasks expects count explicit tasks in a state, made by the task construct on a line;
 * lwp is the thread that runs them, or 0. */
static inline void truth_tasks(const char *state, long count, int line, int lwp) {
  truth_tasks_of("explicit", state, count, line, lwp);
}

static inline void truth_list(FILE *f, const char *key, const int *v, int n) {
  fprintf(f, ",\"%s\":[", key);
  for (int i = 0; i < n; i++)
    fprintf(f, "%s%d", i ? "," : "", v[i]);
  fprintf(f, "]");
}

static inline const char *truth_role(const struct truth_thread *t) {
  if (t->role)
    return t->role;
  if (!t->openmp)
    return "other";
  if (!strcmp(t->state, "idle"))
    return "idle";
  if (t->root == t->lwp)
    return "initial";
  return t->thread_num == 0 ? "primary" : "worker";
}

static inline void truth_write_thread(FILE *f, const struct truth_thread *t) {
  int n = t->level + 1 < TRUTH_LEVELS ? t->level + 1 : TRUTH_LEVELS;
  fprintf(f, "{\"kind\":\"thread\",\"lwp\":%d,\"pthread\":\"0x%lx\",\"openmp\":%s,\"role\":\"%s\"",
          t->lwp, t->pthread, t->openmp ? "true" : "false", truth_role(t));
  fprintf(f, ",\"state\":\"%s\",\"function\":\"%s\",\"file\":\"%s\",\"line\":%d", t->state,
          t->function ? t->function : "", t->file ? t->file : "", t->line);
  if (t->wait_id)
    fprintf(f, ",\"wait_id\":\"0x%lx\"", (unsigned long)t->wait_id);
  if (t->openmp) {
    fprintf(f, ",\"root\":%d,\"thread_num\":%d,\"team_size\":%d,\"level\":%d,\"active_level\":%d",
            t->root, t->thread_num, t->team_size, t->level, t->active_level);
    truth_list(f, "ancestor_thread_num", t->ancestor, n);
    truth_list(f, "ancestor_team_size", t->size_at, n);
    truth_list(f, "region_lines", t->line_at, n);
    fprintf(f, ",\"in_parallel\":%d,\"in_final\":%d,\"max_threads\":%d,\"dynamic\":%d",
            t->in_parallel, t->in_final, t->max_threads, t->dynamic);
    fprintf(f, ",\"max_active_levels\":%d,\"schedule_kind\":%u,\"schedule_chunk\":%d,\"proc_bind\":%d",
            t->max_active_levels, (unsigned)t->sched_kind, t->sched_chunk, t->proc_bind);
    fprintf(f, ",\"thread_limit\":%d,\"default_device\":%d,\"cancellation\":%d,\"num_procs\":%d",
            t->thread_limit, t->default_device, t->cancellation, t->num_procs);
    fprintf(f, ",\"team_num\":%d,\"num_teams\":%d,\"place_num\":%d,\"max_task_priority\":%d",
            t->team_num, t->num_teams, t->place_num, t->max_task_priority);
    fprintf(f, ",\"stacksize\":%lu", (unsigned long)t->stacksize);
  }
  fprintf(f, "}\n");
}

/* truth_write writes everything to $OMPD_TRUTH (standard output if unset). */
static inline void truth_write(int dying) {
  const char *path = getenv("OMPD_TRUTH");
  FILE *f = path ? fopen(path, "w") : stdout;
  static int lwps[TRUTH_THREADS];
  int segv = !strcmp(truth_mode, "segv");
  if (!f)
    _exit(3);
  for (int i = 0; i < truth_count; i++)
    if (truth_threads[i].lwp)
      truth_write_thread(f, &truth_threads[i]);
  fputs(truth_extra, f);
  fprintf(f, "{\"kind\":\"program\",\"file\":\"%s\",\"mode\":\"%s\",\"pid\":%d,\"threads\":%d",
          truth_program, truth_mode, getpid(), truth_count);
  if (dying)
    fprintf(f, ",\"signal\":%d,\"crashed_lwp\":%d,\"fault_address\":\"%s\"", segv ? 11 : 6,
            truth_tid(), segv ? "0x10" : "");
  truth_list(f, "lwps", lwps, truth_lwps(lwps, TRUTH_THREADS));
  fprintf(f, "}\n");
  if (fflush(f))
    _exit(3);
}

/* truth_end writes the truth and dies, or prints READY and stays. The frame of the
 * thread that calls it is truth_end itself, at the line that it notes. */
__attribute__((noinline, unused)) static void truth_end(void) {
  struct truth_thread *t = truth_slot();
  const char *fd = getenv("OMPD_READY_FD");
  t->function = "truth_end";
  t->file = __FILE__;
  if (!strcmp(truth_mode, "abort")) {
    t->line = __LINE__ + 2;
    truth_write(1);
    abort();
  } else if (!strcmp(truth_mode, "segv")) {
    t->line = __LINE__ + 2;
    truth_write(1);
    *(volatile int *)0x10 = 1;
  }
  t->line = __LINE__ + 5;
  truth_write(0);
  if (fd && write(atoi(fd), "READY\n", 6) != 6)
    _exit(3);
  for (;;)
    pause();
}

/* truth_trigger registers the caller as working, awaits n others in place, and ends. */
static inline void truth_trigger(const char *state, int n) {
  truth_ask()->state = state;
  truth_await(n);
  truth_end();
}

#include <sys/wait.h>

/* Where no thread of the program may look on, as one that works could end what the others wait for,
 * a child is the program, and its parent looks on: truth_child forks it, and each of n threads calls
 * truth_watched before it waits. */
static struct truth_seen {
  int entered, ready, lwps[16];
} *truth_seen;

/* truth_ran is the processor time of a thread of the child, in nanoseconds. */
static inline long truth_ran(int pid, int lwp) {
  char path[64];
  long ns = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, lwp);
  FILE *f = fopen(path, "r");
  if (!f || fscanf(f, "%ld", &ns) != 1)
    _exit(3);
  fclose(f);
  return ns;
}

/* truth_asleep reports whether a thread of the child is in a futex call. */
static inline int truth_asleep(int pid, int lwp) {
  char path[64];
  int call = -1;
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, lwp);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%d", &call) != 1)
    call = -1;
  if (f)
    fclose(f);
  return call == SYS_futex;
}

__attribute__((unused)) static void truth_child(int n) {
  struct timespec look = {0, 1000000};
  truth_seen = (struct truth_seen *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  alarm(TRUTH_LIMIT_S);
  int child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(TRUTH_LIMIT_S);
    return;
  }
  while (__atomic_load_n(&truth_seen->ready, __ATOMIC_ACQUIRE) != n) {
    if (waitpid(child, NULL, WNOHANG) == child)
      _exit(4); /* it has ended before it hung */
    nanosleep(&look, NULL);
  }
  for (int i = 0; i < n; i++) {
    int lwp = truth_seen->lwps[i];
    long before = truth_ran(child, lwp);
    while (truth_ran(child, lwp) < before + 3000000 && !truth_asleep(child, lwp)) {
      if (waitpid(child, NULL, WNOHANG) == child)
        _exit(4);
      nanosleep(&look, NULL);
    }
  }
  if (write(atoi(getenv("OMPD_READY_FD")), "READY\n", 6) != 6)
    _exit(3);
  while (waitpid(child, NULL, 0) != child) /* it may be ended, as one that hangs */
    ;
  _exit(0);
}

/* truth_watched enters a wait, as one of n threads. */
__attribute__((unused)) static void truth_watched(int n) {
  TRUTH_WAIT("work_parallel", 0, 0);
  int i = __atomic_fetch_add(&truth_seen->entered, 1, __ATOMIC_RELAXED);
  truth_seen->lwps[i] = truth_tid();
  if (i == n - 1)
    truth_write(0);
  __atomic_fetch_add(&truth_seen->ready, 1, __ATOMIC_RELEASE);
}

/* truth_loop expects a thread in the iteration with value now of a worksharing loop, in a chunk
 * that starts with value first. */
__attribute__((unused)) static void truth_loop(int lwp, long long first, long long now) {
  size_t n = strlen(truth_extra);
  snprintf(truth_extra + n, sizeof truth_extra - n, "{\"kind\":\"loop\",\"lwp\":%d,\"first\":%lld,\"now\":%lld}\n", lwp, first,
           now);
}
#endif
