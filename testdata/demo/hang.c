// A program that hangs as real ones do: two threads of a team lock two locks in
// opposite order, a task waits for one of the locks, other tasks for that task, and
// the rest of the team for all of them at a barrier.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static omp_lock_t accounts, journal;
static volatile int held;

__attribute__((noinline)) static void transfer(omp_lock_t *first, omp_lock_t *second) {
  omp_set_lock(first);
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (held < 2) // both hold their first lock: a deadlock from here
    usleep(100);
  omp_set_lock(second); // never returns
  omp_unset_lock(second);
  omp_unset_lock(first);
}

__attribute__((noinline)) static void update(int account) {
  omp_set_lock(&accounts);
  printf("account %d\n", account);
  omp_unset_lock(&accounts);
}

static void settle(void) {
#pragma omp parallel num_threads(4)
  {
    int me = omp_get_thread_num();
    if (me == 0)
      transfer(&accounts, &journal);
    else if (me == 1)
      transfer(&journal, &accounts);
    else
      while (held < 2)
        usleep(100);
    if (me == 2)
      for (int i = 0; i < 5; i++) {
#pragma omp task firstprivate(i) depend(inout : held)
        update(i);
      }
#pragma omp barrier
  }
}

int main(void) {
  omp_init_lock(&accounts);
  omp_init_lock(&journal);
  settle();
  puts("settled");
  return 0;
}
