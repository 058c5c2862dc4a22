/* truth.h for fortran_barrier.f90, which gives the line of its region itself. The line of a barrier
 * is not determined: flang gives its call that of another statement. */
#include "truth.h"

#define SOURCE "fortran_barrier.f90"

void truth_f_region(int line);
void truth_f_sleep(void);
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

void truth_f_trigger(int n) { truth_trigger("work_parallel", n); }

void truth_f_never(void) { TRUTH_NEVER(); }
