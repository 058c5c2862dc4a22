/* Two threads that never leave their loop: they compute, pass barriers, take shares of
 * loops, wait for a flag, poll, or wait at the program's own barrier for more threads than
 * exist: without optimization, that loop has several places with different registers. With "yield",
 * they wait for a flag with taskyield; with "works", one of them computes meanwhile, and with "tasks",
 * one of them makes tasks, which the other one may execute. */
#include "truth.h"

static volatile int never;
static volatile double sink;
static int made;

static void compute(void) {
  double sum = 1;
  for (long i = 0;; i++) {
    sum = sum * 1.0000001 + (double)i;
    if (sum < 0)
      sink = sum;
  }
}

static void barriers(void) {
  for (;;) {
#pragma omp barrier
  }
}

static void dynamic(void) {
  for (;;) {
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < 8; i++)
      if (never)
        sink = i;
  }
}

static void flag(void) {
  while (!never)
    ;
}

static void poll(void) {
  struct timespec look = {0, 200000};
  while (!never)
    nanosleep(&look, NULL);
}

static void meet(void) {
  static int came, turn;
  int now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
  if (__atomic_add_fetch(&came, 1, __ATOMIC_SEQ_CST) == omp_get_num_threads() + 1)
    __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
  else
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) == now)
      ;
}

static void yield(void) {
  while (!never) {
#pragma omp taskyield
  }
}

static void works(void) {
  if (omp_get_thread_num() == 0)
    compute();
  yield();
}

static void tasks(void) {
  while (omp_get_thread_num() == 0) {
#pragma omp task
    __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
  }
  yield();
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*loop)(void);
  } loops[] = {{"compute", compute}, {"barriers", barriers}, {"dynamic", dynamic}, {"flag", flag}, {"poll", poll}, {"meet", meet},
               {"yield", yield}, {"works", works}, {"tasks", tasks}};
  const char *fd = getenv("OMPD_READY_FD");
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    truth_ask();
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      truth_write(0);
      if (fd && write(atoi(fd), "READY\n", 6) != 6)
        _exit(3);
    }
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
      if (argc > 2 && !strcmp(argv[2], loops[i].name))
        loops[i].loop();
  }
  return 0;
}
