/* A deadlock: thread 0 holds the first lock and wants the second, thread 1 the other way round. Between its two
 * acquisitions, thread 0 comes through code that is hard to follow: "0", "1" and "2" jump through a table to one of 4,
 * 200 or 1,500 labels, at each of which is a loop that nothing else leads to; "3" has 6,000 branches. With a second
 * argument, thread 0 works there and does not want the second lock: that is healthy. */
#include "truth.h"

static omp_lock_t first, second;
static volatile int held_first, held_second, works, cell[16];

#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HUNDRED(M, n)                                                                                       \
  TEN(M, n##0) TEN(M, n##1) TEN(M, n##2) TEN(M, n##3) TEN(M, n##4) TEN(M, n##5) TEN(M, n##6) TEN(M, n##7)    \
  TEN(M, n##8) TEN(M, n##9)
#define THOUSAND(M, n)                                                                                      \
  HUNDRED(M, n##0) HUNDRED(M, n##1) HUNDRED(M, n##2) HUNDRED(M, n##3) HUNDRED(M, n##4) HUNDRED(M, n##5)      \
  HUNDRED(M, n##6) HUNDRED(M, n##7) HUNDRED(M, n##8) HUNDRED(M, n##9)
#define FEW(M) M(1) M(2) M(3) M(4)
#define SOME(M) HUNDRED(M, 1) HUNDRED(M, 2)
#define MANY(M) THOUSAND(M, 1) HUNDRED(M, 20) HUNDRED(M, 21) HUNDRED(M, 22) HUNDRED(M, 23) HUNDRED(M, 24)
#define BRANCHES(M)                                                                                         \
  THOUSAND(M, 1) THOUSAND(M, 2) THOUSAND(M, 3) THOUSAND(M, 4) THOUSAND(M, 5) THOUSAND(M, 6)

#define ADDRESS(n) &&l##n,
#define LOOP(n)                                                                                             \
  l##n : cell[1]++;                                                                                         \
  if (cell[2] > n)                                                                                          \
    goto l##n;
#define BRANCH(n)                                                                                           \
  if (cell[2] > n)                                                                                          \
    cell[3]++;                                                                                              \
  else                                                                                                      \
    cell[4]--;

#define BEGIN                                                                                               \
  omp_set_lock(&first);                                                                                     \
  truth_set(&held_first);                                                                                   \
  truth_until(&held_second);
#define END                                                                                                 \
  if (works)                                                                                                \
    truth_hold("work_parallel", 1);                                                                         \
  TRUTH_WAIT("wait_lock", &second, 0);                                                                      \
  omp_set_lock(&second);                                                                                    \
  omp_unset_lock(&second);                                                                                  \
  omp_unset_lock(&first);

#define JUMPS(name, LABELS)                                                                                 \
  __attribute__((noinline)) static void name(void) {                                                        \
    static const void *const table[] = {LABELS(ADDRESS)};                                                   \
    BEGIN                                                                                                   \
    goto *table[cell[0]];                                                                                   \
    LABELS(LOOP)                                                                                            \
    END                                                                                                     \
  }

JUMPS(jump_few, FEW)
JUMPS(jump_some, SOME)
JUMPS(jump_many, MANY)

__attribute__((noinline)) static void branch(void) {
  BEGIN
  BRANCHES(BRANCH)
  END
}

__attribute__((noinline)) static void withdraw(void) {
  omp_set_lock(&second);
  truth_set(&held_second);
  truth_until(&held_first);
  TRUTH_WAIT("wait_lock", &first, 0);
  omp_set_lock(&first);
  omp_unset_lock(&first);
  omp_unset_lock(&second);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&first);
  omp_init_lock(&second);
#pragma omp parallel num_threads(3)
  {
    switch (omp_get_thread_num()) {
    case 0:
      (way == 0 ? jump_few : way == 1 ? jump_some : way == 2 ? jump_many : branch)();
      break;
    case 1: withdraw(); break;
    default: truth_trigger("work_parallel", 2);
    }
  }
  return 0;
}
