/* truth.h for programs in Fortran, which give the lines of their regions themselves. The line of a barrier
 * is not determined: flang gives its call that of another statement. */
#include "truth.h"

/* SOURCE is the name of the program's file. */

void truth_f_region(int line);
void truth_f_sleep(void);
void truth_f_inside(void);
void truth_f_wait_critical(int line);
void truth_f_join(int line);
void truth_f_trigger(int n);
void truth_f_never(void);

/* A constructor, because only the loader hands the arguments to something that is not main. */
__attribute__((constructor)) static void truth_f_init(int argc, char **argv) {
  truth_init(argc, argv, SOURCE);
}

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
