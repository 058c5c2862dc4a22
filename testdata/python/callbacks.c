/* callbacks.c: a library of a Python program that calls its user back from a parallel loop, with and without a lock. */
#include <omp.h>

static omp_lock_t table;
static int count;

void setup(void) { omp_init_lock(&table); }

void add(int i) {
  omp_set_lock(&table);
  count += i;
  omp_unset_lock(&table);
}

void for_all(int n, void (*work)(int)) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; i++)
    work(i);
}

/* on_workers calls back from every thread but the caller's, which may have what they need and waits for them. */
void on_workers(void (*work)(int)) {
#pragma omp parallel
  if (omp_get_thread_num() > 0)
    work(omp_get_thread_num());
}

void for_all_locked(int n, void (*work)(int)) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; i++) {
    omp_set_lock(&table);
    count++;
    work(i);
    omp_unset_lock(&table);
  }
}
