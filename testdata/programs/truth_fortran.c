/* truth.h for programs in Fortran, which pass the lines of their regions themselves. The
 * line of a barrier is undetermined: flang gives its call the line of another statement. */
#include "truth.h"

/* SOURCE is the name of the program's file. */

void truth_f_region(int line);
void truth_f_sleep(void);
void truth_f_inside(void);
void truth_f_wait_critical(int line);
void truth_f_join(int line);
void truth_f_trigger(int n);
void truth_f_never(void);
int truth_f_arg(int n, int def);
void truth_f_look(int n);
void truth_f_meet(int n);
void truth_f_wait(const char *state);
void truth_f_hold(void);
void truth_f_await(int n);
void truth_f_write(void);

static int arguments;
static char **argument;

/* A constructor, because only the loader hands the arguments to something that is not main. */
__attribute__((constructor)) static void truth_f_init(int argc, char **argv) {
  arguments = argc;
  argument = argv;
  truth_init(argc, argv, SOURCE);
}

int truth_f_arg(int n, int def) { return (int)truth_arg(arguments, argument, n, def); }

void truth_f_region(int line) { TRUTH_REGION(line); }

void truth_f_sleep(void) {
  truth_enter(TRUTH_ASLEEP, "wait_barrier_explicit", 0, "together", SOURCE, 0);
}

static volatile int inside;

void truth_f_inside(void) { truth_set(&inside); }

/* The section's line is not determined, as flang gives its call that of another statement. */
void truth_f_wait_critical(int line) {
  truth_until(&inside);
  truth_enter(TRUTH_SPINNING, "wait_critical", 0, "grow", SOURCE, line);
}

void truth_f_join(int line) { truth_join("", SOURCE, line, TRUTH_ASLEEP); }

void truth_f_trigger(int n) { truth_trigger("work_parallel", n); }

void truth_f_never(void) { TRUTH_NEVER(); }

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

/* A thread of its own looks when n others are in place. */
void truth_f_look(int n) {
  pthread_t observer;
  if (pthread_create(&observer, NULL, look, (void *)(long)n))
    abort();
}

/* Returns when n calls were made. */
void truth_f_meet(int n) {
  static volatile int met;
  struct timespec pause = {0, 200000};
  __atomic_add_fetch(&met, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&met, __ATOMIC_SEQ_CST) < n)
    nanosleep(&pause, NULL);
}

/* The thread enters a wait that may spin, in code without a determined place. */
/* The argument is a temporary of the caller. */
void truth_f_wait(const char *state) { truth_enter(TRUTH_SPINNING, strdup(state), 0, "", SOURCE, 0); }

void truth_f_hold(void) { truth_hold("work_parallel", 1); }

void truth_f_await(int n) { truth_await(n); }

void truth_f_write(void) { truth_write(1); }
