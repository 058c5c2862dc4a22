/* Two threads take two locks in both orders, by functions of a system header. An argument of 1: the holder of the first
 * lock works, and gives it back later. */
#include "truth.h"
#include <header_lock.h>

static struct header_lock rows, columns;
static volatile int held[2], works, turns;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void by_rows(void) {
  header_lock_take(&rows);
  truth_set(&held[0]);
  truth_until(&held[1]);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("", 0, 0);
  header_lock_take(&columns);
  turns++;
  header_lock_give(&columns);
  header_lock_give(&rows);
}

__attribute__((noinline)) static void by_columns(void) {
  header_lock_take(&columns);
  truth_set(&held[1]);
  truth_until(&held[0]);
  TRUTH_WAIT("", 0, 0);
  header_lock_take(&rows);
  turns++;
  header_lock_give(&rows);
  header_lock_give(&columns);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  works = (int)truth_arg(argc, argv, 1, 0);
  omp_init_lock(&rows.lock);
  omp_init_lock(&columns.lock);
  pthread_create(&observer, NULL, look, (void *)2L);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      by_rows();
    else
      by_columns();
  }
  return 0;
}
