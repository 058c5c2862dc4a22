// Two threads move goods between two shelves, in opposite directions. A flag of one byte decides whether the first
// lock is kept. Without optimization, compilers put it beside a variable whose address is passed on. Argument of 1: no
// lock is kept, and a thread that works holds both.
#include "truth.h"

static omp_lock_t shelves[2];
static int quick;
static volatile int here[2], taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *sort(void *unused) {
  truth_until(&here[0]);
  truth_until(&here[1]);
  omp_set_lock(&shelves[0]);
  omp_set_lock(&shelves[1]);
  truth_set(&taken);
  while (taken)
    pause(); // works on, for ever
  omp_unset_lock(&shelves[1]);
  omp_unset_lock(&shelves[0]);
  return unused;
}

__attribute__((noinline)) static void choose(int *to) { *to &= 1; }

__attribute__((noinline)) static void arrive(int me) {
  truth_set(&here[me]);
  truth_until(&here[1 - me]);
  if (quick)
    truth_until(&taken);
  TRUTH_WAIT("wait_lock", 0, 0);
}

__attribute__((noinline)) static void move(int from, int to) {
  bool keep = !quick;
  omp_set_lock(&shelves[from]); // the first of two
  choose(&to);
  if (!keep)
    omp_unset_lock(&shelves[from]);
  arrive(from);
  omp_set_lock(&shelves[to]);
  omp_unset_lock(&shelves[to]);
  if (keep)
    omp_unset_lock(&shelves[from]);
}

int main(int argc, char **argv) {
  pthread_t observer, sorter;
  truth_init(argc, argv, __FILE__);
  quick = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&shelves[0]);
  omp_init_lock(&shelves[1]);
  pthread_create(&observer, NULL, look, (void *)2L);
  if (quick)
    pthread_create(&sorter, NULL, sort, NULL);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    move(me, 3 - me);
  }
  return 0;
}
