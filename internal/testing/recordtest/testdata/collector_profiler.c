/* collector_profiler.c: a collector as the paper of Sun's API describes it (sections 5 and 6), to be loaded before a
 * program. It registers when it is loaded, samples each thread by a timer, requests its state and region in the
 * handler, and stores the stack of each fork. At the end it prints the use of each thread's time, and the samples'
 * stacks in the form that the program's author knows: joined to those of the forks.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"

enum { THREADS = 64, DEPTH = 48, SAMPLES = 4096, FORKS = 256, PERIOD = 1000000 /* ns */, RECENT = 32, LINE = 1024 };

struct stack {
  int32_t depth;
  void *frames[DEPTH];
};

static struct thread {
  uint64_t begun;                /* when its timer was set */
  long work, wait, idle, counted; /* periods */
  long recent[RECENT];           /* the clock's time minus the counted time, at the last samples */
  uint64_t region;
  int samples; /* in that region, at work */
} threads[THREADS];
static int thread_count;
static __thread struct thread *me __attribute__((tls_model("initial-exec")));

static struct fork {
  uint64_t region, parent;
  struct stack stack;
} forks[FORKS];
static int fork_count;

static struct sample {
  uint64_t region;
  struct thread *thread;
  struct stack stack;
} samples[SAMPLES];
static int sample_count;

static volatile sig_atomic_t ending;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* collector_samples returns the number of samples of the calling thread at work in the region of its last sample. */
int collector_samples(uint64_t *region) {
  *region = me == NULL ? 0 : __atomic_load_n(&me->region, __ATOMIC_RELAXED);
  return me == NULL ? 0 : __atomic_load_n(&me->samples, __ATOMIC_RELAXED);
}

static void keep(struct thread *t, uint64_t region) {
  int i = __atomic_fetch_add(&sample_count, 1, __ATOMIC_RELAXED);
  t->samples = t->region == region ? t->samples + 1 : 1;
  t->region = region;
  if (i >= SAMPLES) return;
  samples[i].region = region;
  samples[i].thread = t;
  samples[i].stack.depth = backtrace(samples[i].stack.frames, DEPTH);
}

/* handler charges the periods since the last sample to the thread's current activity. */
static void handler(int number, siginfo_t *info, void *context) {
  struct thread *t = me;
  (void)number, (void)context;
  if (t == NULL || ending) return;
  long periods = 1 + info->si_overrun;
  int32_t state = ask(OMP_REQ_STATE).memory.state.state;
  uint64_t region = ask(OMP_REQ_CURRENT_PRID).memory.region;
  switch (state) {
  case THR_WORK_STATE:
  case THR_SERIAL_STATE:
  case THR_REDUC_STATE: t->work += periods; break;
  case THR_IDLE_STATE: t->idle += periods; break;
  default: t->wait += periods;
  }
  t->recent[t->counted % RECENT] = (long)((now() - t->begun) / PERIOD) - (t->counted + periods);
  t->counted += periods;
  if (state == THR_WORK_STATE && region != 0) keep(t, region);
}

/* sample_thread sets the calling thread's timer, and records the exact time. */
static void sample_thread(void) {
  int i = __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
  struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
  struct itimerspec every = {.it_interval.tv_nsec = PERIOD, .it_value.tv_nsec = PERIOD}, off = {{0, 0}, {0, 0}};
  timer_t timer;
  if (i >= THREADS) return;
  e._sigev_un._tid = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &e, &timer) != 0) return;
  for (;;) {
    threads[i].begun = now();
    timer_settime(timer, 0, &every, NULL);
    if (now() - threads[i].begun < PERIOD / 4) break;
    timer_settime(timer, 0, &off, NULL); /* another thread ran meanwhile */
  }
  me = &threads[i];
}

static void on_event(OMP_COLLECTORAPI_EVENT event) {
  if (event == OMP_EVENT_THR_BEGIN_IDLE && me == NULL) sample_thread(); /* a new worker */
  if (event != OMP_EVENT_FORK) return;
  int i = __atomic_fetch_add(&fork_count, 1, __ATOMIC_RELAXED);
  if (i >= FORKS) return;
  forks[i].parent = ask(OMP_REQ_PARENT_PRID).memory.region;
  forks[i].stack.depth = backtrace(forks[i].stack.frames, DEPTH);
  forks[i].region = ask(OMP_REQ_CURRENT_PRID).memory.region;
}

__attribute__((constructor)) static void begin(void) {
  void *frames[4];
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
  backtrace(frames, 4); /* it loads its library at the first call */
  find_api();
  if (ask(OMP_REQ_START).error != OMP_ERRCODE_OK) return;
  enroll(OMP_EVENT_FORK, on_event);
  enroll(OMP_EVENT_THR_BEGIN_IDLE, on_event);
  sigaction(SIGPROF, &action, NULL);
  sample_thread();
}

/* place classifies an address: in the program, in the runtime, or in neither. */
static enum { PROGRAM, RUNTIME, ELSE } place(void *address, const char **name) {
  Dl_info info = {0};
  *name = "outlined"; /* it is local in its file */
  if (dladdr((char *)address - 1, &info) == 0) return ELSE;
  const char *file = strrchr(info.dli_fname, '/');
  file = file == NULL ? info.dli_fname : file + 1;
  if (strncmp(file, "libgomp", 7) == 0 || strncmp(file, "libomp", 6) == 0) return RUNTIME;
  if (strncmp(file, "collector_program", 17) != 0) return ELSE;
  if (info.dli_sname != NULL) *name = info.dli_sname;
  return PROGRAM;
}

static void add(char *line, const char *name) {
  const char *last = strrchr(line, ';');
  last = last == NULL ? line : last + 1;
  if (strcmp(last, name) == 0) return; /* clang calls one outlined function from another */
  if (*line != 0) strcat(line, ";");
  strcat(line, name);
}

/* join writes the frames of the program down to the first of the runtime, followed by those of the fork. */
static void join(char *line, const struct stack *s, uint64_t region) {
  bool any = false;
  for (int i = 0; i < s->depth && strlen(line) < LINE - 64; i++) {
    const char *name;
    int where = place(s->frames[i], &name);
    if (where == RUNTIME && any) break;
    if (where != PROGRAM) continue;
    any = true;
    add(line, name);
    if (strcmp(name, "main") == 0) return;
  }
  for (int i = 0; i < fork_count && i < FORKS; i++)
    if (region != 0 && forks[i].region == region) join(line, &forks[i].stack, forks[i].parent);
}

static void say_stacks(void) {
  static struct {
    char line[LINE];
    uint64_t threads;
    int samples;
  } all[64];
  int n = 0;
  for (int i = 0; i < sample_count && i < SAMPLES; i++) {
    char line[LINE] = "";
    int k = 0;
    join(line, &samples[i].stack, samples[i].region);
    while (k < n && strcmp(all[k].line, line) != 0) k++;
    if (k == 64) continue;
    if (k == n) strcpy(all[n++].line, line);
    all[k].threads |= UINT64_C(1) << (samples[i].thread - threads);
    all[k].samples++;
  }
  for (int k = 0; k < n; k++)
    printf("stack %s %d %d\n", all[k].line, __builtin_popcountl(all[k].threads), all[k].samples);
}

__attribute__((destructor)) static void end(void) {
  ending = 1;
  printf("forks %d\n", fork_count);
  for (int i = 0; i < thread_count && i < THREADS; i++) {
    struct thread *t = &threads[i];
    long off = 1000000;
    for (int k = 0; k < RECENT; k++)
      if (labs(t->recent[k]) < off) off = labs(t->recent[k]);
    printf("thread %ld %ld %ld %ld %ld\n", t->work, t->wait, t->idle, t->counted, off);
  }
  say_stacks();
}
