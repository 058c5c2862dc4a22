/* Each thread of a team stays in an iteration of a worksharing loop, the first or a
 * later one of its range, and records its values so far. The arguments are the kind
 * of loop and the number of iterations that a thread executes before it stays. */
#include "truth.h"

#define THREADS 3

static long before, n_loops;
static struct {
  int lwp, count;
  long long first, now;
} seen[THREADS];

/* visit notes that the thread is in the iteration with a value, which follows on the one before by
 * step or is the first of a chunk, and stays if it has been in enough. */
__attribute__((noinline)) static void visit(long long value, long long step) {
  int me = omp_get_thread_num(), team = omp_get_num_threads();
  if (!seen[me].count || seen[me].now + step != value)
    seen[me].first = value;
  seen[me].lwp = truth_tid();
  seen[me].now = value;
  if (seen[me].count++ < before)
    return;
  if (me != 0)
    TRUTH_HOLD("work_parallel");
  truth_await(team - 1);
  for (int i = 0; i < team; i++)
    truth_loop(seen[i].lwp, seen[i].first, seen[i].now);
  truth_trigger("work_parallel", team - 1);
}

__attribute__((noinline)) static void sink_done(long *i) { __atomic_fetch_add(&n_loops, *i, __ATOMIC_RELAXED); }

__attribute__((noinline)) static void orphaned(void) {
#pragma omp for schedule(monotonic : dynamic, 7) nowait
  for (int i = 10; i < 210; i += 2)
    visit(i, 2);
}

static void plain(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for
    for (int i = 10; i < 210; i += 2)
      visit(i, 2);
  }
}

static void chunked(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(static, 5)
    for (int i = 10; i < 210; i += 2)
      visit(i, 2);
  }
}

static void downwards(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(monotonic : dynamic, 5)
    for (long i = 209; i >= 10; i -= 2)
      visit(i, -2);
  }
}

static void stealing(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(nonmonotonic : dynamic, 5)
    for (int i = 10; i < 210; i += 2)
      visit(i, 2);
  }
}

static void guided(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(guided, 3)
    for (unsigned long long i = 10; i < 210; i += 2)
      visit((long long)i, 2);
  }
}

static void at_run_time(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(runtime)
    for (int i = 10; i < 210; i += 2)
      visit(i, 2);
  }
}

static void automatic(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(auto)
    for (int i = 10; i < 210; i += 2)
      visit(i, 2);
  }
}

static void doacross(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(dynamic, 4) ordered(1)
    for (long i = 10; i < 210; i += 2) {
      visit(i, 2);
#pragma omp ordered depend(sink : i - 2)
      sink_done(&i);
#pragma omp ordered depend(source)
    }
  }
}

static void ordered(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(static, 3) ordered
    for (long i = 10; i < 210; i += 2) {
      visit(i, 2);
#pragma omp ordered
      sink_done(&i);
    }
  }
}

static void combined(void) {
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 5)
  for (int i = 10; i < 210; i += 2)
    visit(i, 2);
}

/* after leaves a loop that is handed out, and one that is divided, before it stays. */
static void after(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp for schedule(dynamic, 5)
    for (int i = 0; i < 100; i++)
      __atomic_fetch_add(&n_loops, 1, __ATOMIC_RELAXED);
#pragma omp for
    for (int i = 0; i < 100; i++)
      __atomic_fetch_add(&n_loops, 1, __ATOMIC_RELAXED);
    visit(0, 1);
  }
}

static void orphan(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
    orphaned();
  }
}

/* tasks has a loop that is divided into tasks. */
static void tasks(void) {
#pragma omp parallel num_threads(THREADS)
  {
    TRUTH_REGION(__LINE__ - 2);
#pragma omp single
    {
#pragma omp taskloop grainsize(5)
      for (int i = 10; i < 210; i += 2)
        visit(i, 2);
    }
  }
}

/* distributed is a league of one team. Its threads divide the team's iterations: there are as many as
 * processors, or fewer. */
static void distributed(void) {
#pragma omp teams num_teams(1) thread_limit(THREADS)
#pragma omp distribute parallel for num_threads(THREADS)
  for (int i = 10; i < 210; i += 2)
    visit(i, 2);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*loop)(void);
  } loops[] = {{"plain", plain},       {"chunked", chunked},     {"downwards", downwards}, {"stealing", stealing}, {"guided", guided},
               {"runtime", at_run_time}, {"auto", automatic},    {"doacross", doacross},   {"ordered", ordered},   {"combined", combined},
               {"after", after},       {"orphan", orphan},       {"distributed", distributed}, {"taskloop", tasks}};
  truth_init(argc, argv, __FILE__);
  before = truth_arg(argc, argv, 2, 0);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    if (argc > 2 && !strcmp(argv[2], loops[i].name))
      loops[i].loop();
  return 3;
}
