/* A deadlock of locks in the elements of an array, acquired in a loop: three dining philosophers;
 * in the last round each has one fork and wants the next. Thread 3 is not involved. */
#include "truth.h"

enum { SEATS = 3 };

static struct seat {
  long eaten;
  omp_lock_t fork;
} table[SEATS];

static volatile int taken;

__attribute__((noinline)) static void dine(int seat, int rounds) {
  for (int round = 0; round < rounds; round++) {
    int first = seat, next = (seat + round) % SEATS;
    omp_set_lock(&table[first].fork);
    if (round == rounds - 1) {
      __atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) < SEATS)
        usleep(100);
      TRUTH_WAIT("wait_lock", &table[next].fork, __LINE__ + 3);
    }
    if (next != first) {
      omp_set_lock(&table[next].fork);
      table[next].eaten++;
      omp_unset_lock(&table[next].fork);
    }
    omp_unset_lock(&table[first].fork);
  }
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  for (int i = 0; i < SEATS; i++)
    omp_init_lock(&table[i].fork);
#pragma omp parallel num_threads(SEATS + 1)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() < SEATS)
      dine(omp_get_thread_num(), 2);
    else
      truth_trigger("work_parallel", SEATS);
  }
  return 0;
}
