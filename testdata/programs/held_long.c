/* held_long.c: a lock that one thread holds as long as the standard input is open.
 * With the argument 0 the others wait for it; with 1 they only test it now and then. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, HELD_MS = 1500 };

static omp_lock_t shelf;
static atomic_int taken, testing;

static void rest(long milliseconds) {
  struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&t, NULL);
}

__attribute__((noinline)) static void holder(void) {
  char c;
  omp_set_lock(&shelf);
  atomic_store(&taken, 1);
  while (atomic_load(&testing) != THREADS - 1) rest(1);
  rest(HELD_MS);
  printf("READY\n");
  fflush(stdout);
  while (read(0, &c, 1) > 0) continue;
  omp_unset_lock(&shelf);
}

__attribute__((noinline)) static void visitor(int patient) {
  while (!atomic_load(&taken)) rest(1);
  atomic_fetch_add(&testing, 1);
  if (patient)
    omp_set_lock(&shelf);
  else
    while (!omp_test_lock(&shelf)) rest(50);
  omp_unset_lock(&shelf);
}

int main(int argc, char **argv) {
  int patient = argc < 2 || atoi(argv[1]) == 0;
  alarm(3600);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  omp_init_lock(&shelf);
#pragma omp parallel num_threads(THREADS)
  {
    if (omp_get_thread_num() == 0)
      holder();
    else
      visitor(patient);
  }
  return 0;
}
