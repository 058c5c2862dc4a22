/* callbacks.c: a library of a Python program that calls its user back from a parallel loop, with and without a lock. */
#define _GNU_SOURCE
#include <link.h>
#include <omp.h>
#include <unistd.h>

static omp_lock_t table;
static int count;

void setup(void) { omp_init_lock(&table); }

void add(int i) {
  omp_set_lock(&table);
  count += i;
  omp_unset_lock(&table);
}

/* hold sleeps with the locks of its caller. */
void hold(void) { pause(); }

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

void add_critical(int i) {
#pragma omp critical(halo)
  count += i;
}

void for_all_critical(int n, void (*work)(int)) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; i++) {
#pragma omp critical(halo)
    {
      count++;
      work(i);
    }
  }
}

static int inside, go;

static int in_loader(struct dl_phdr_info *info, size_t size, void *work) {
  (void)info, (void)size;
  __atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_exchange_n(&go, 0, __ATOMIC_SEQ_CST))
    usleep(1000);
  ((void (*)(int))work)(0);
  return 1;
}

static int none(struct dl_phdr_info *info, size_t size, void *data) {
  (void)info, (void)size, (void)data;
  return 1;
}

/* under_loader calls back while it holds the lock of the loader, once after_loader was called. */
void under_loader(void (*work)(int)) { dl_iterate_phdr(in_loader, (void *)work); }

/* is_under_loader reports, once, whether another thread is in under_loader. */
int is_under_loader(void) { return __atomic_exchange_n(&inside, 0, __ATOMIC_SEQ_CST); }

/* after_loader takes the lock of the loader. */
void after_loader(void) {
  __atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
  dl_iterate_phdr(none, NULL);
}
