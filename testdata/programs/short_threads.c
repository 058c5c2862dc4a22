/* short_threads.c: short-lived threads of the program, each with a lock and a region of two
 * threads, eight at once. It prints the numbers of all its threads, and the time at which each
 * of the program's own was about to end, in nanoseconds of CLOCK_MONOTONIC; 0 for others. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 6, AT_ONCE = 8, MEMBERS = 2 };

static struct {
  long lwp;
  long long end;
} roots[ROUNDS * AT_ONCE];
static long members[ROUNDS * AT_ONCE];
static omp_lock_t ledger;
static volatile long entries;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *root(void *p) {
  long i = (long)p;
  roots[i].lwp = syscall(SYS_gettid);
  omp_set_lock(&ledger);
  entries++;
  omp_unset_lock(&ledger);
#pragma omp parallel num_threads(MEMBERS)
  if (omp_get_thread_num() > 0) members[i] = syscall(SYS_gettid);
  roots[i].end = now();
  return NULL;
}

int main(void) {
  struct timespec rest = {0, 30000000};
  omp_init_lock(&ledger);
  for (long round = 0; round < ROUNDS; round++) {
    pthread_t all[AT_ONCE];
    for (long i = 0; i < AT_ONCE; i++) pthread_create(&all[i], NULL, root, (void *)(round * AT_ONCE + i));
    for (int i = 0; i < AT_ONCE; i++) pthread_join(all[i], NULL);
    nanosleep(&rest, NULL);
  }
  printf("%d 0\n", getpid());
  for (int i = 0; i < ROUNDS * AT_ONCE; i++) printf("%ld %lld\n%ld 0\n", roots[i].lwp, roots[i].end, members[i]);
  return 0;
}
