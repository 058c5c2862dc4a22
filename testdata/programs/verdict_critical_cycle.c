/* A deadlock of two critical sections that are entered in opposite order. */
#include "truth.h"

static volatile int in_ledger, in_audit;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void book(void) {
#pragma omp critical(ledger)
  {
    truth_set(&in_ledger);
    truth_until(&in_audit);
    TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(audit)
    TRUTH_NEVER();
  }
}

__attribute__((noinline)) static void check(void) {
#pragma omp critical(audit)
  {
    truth_set(&in_audit);
    truth_until(&in_ledger);
    TRUTH_WAIT("wait_critical", 0, __LINE__ + 1);
#pragma omp critical(ledger)
    TRUTH_NEVER();
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      book();
    else
      check();
  }
  return 0;
}
