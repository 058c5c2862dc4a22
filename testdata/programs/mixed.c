/* A team of 64 threads (or argv[2]) in waits of all kinds: half of them are at an explicit
 * barrier, a quarter wait for the critical section "ledger", and the others sleep in their
 * own functions. The last of them sleeps within that section, and triggers. */
#include "truth.h"

TRUTH_ENV("OMP_WAIT_POLICY", "passive") /* so many cannot all spin */

/* The compiler's own variable of the section, which C has no name for. */
#ifdef __clang__
#define LEDGER ".gomp_critical_user_ledger.var"
#else
#define LEDGER ".gomp_critical_user_ledger"
#endif
__asm__(".pushsection .data.rel,\"aw\"\n.balign 8\nledger: .quad " LEDGER "\n.popsection");
extern char *ledger;
static volatile int taken;

/* settle has the section, and keeps it. */
__attribute__((noinline)) static void settle(int others) {
#pragma omp critical(ledger)
  {
    truth_set(&taken);
    truth_trigger("work_parallel", others);
  }
}

/* book waits for the section. */
__attribute__((noinline)) static void book(void) {
  truth_until(&taken);
  TRUTH_WAIT("wait_critical", ledger, __LINE__ + 1);
#pragma omp critical(ledger)
  TRUTH_NEVER();
}

/* read_in and print_out are unrelated to it. */
__attribute__((noinline)) static void read_in(void) { TRUTH_HOLD("work_parallel"); }
__attribute__((noinline)) static void print_out(void) { TRUTH_HOLD("work_parallel"); }

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  int count = (int)truth_arg(argc, argv, 1, 64);
#pragma omp parallel num_threads(count)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == count - 1)
      settle(count - 1);
    if (me < count / 2) {
      TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
      TRUTH_NEVER();
    }
    if (me < count / 2 + count / 4)
      book();
    if (me % 2)
      read_in();
    print_out();
  }
  return 0;
}
