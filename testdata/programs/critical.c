/* Two critical sections: thread 0 is in the unnamed one and triggers, thread 1 is in the one
 * named "ledger" and works; threads 2 and 3 wait for the unnamed one, thread 4 for "ledger". */
#include "truth.h"

/* The compiler's own variables of the two sections; they have no names in C. With GCC, the lock of the
 * unnamed section is in the runtime. The pointers are global: aarch64's linker confuses local symbols. */
#ifdef __clang__
#define UNNAMED ".gomp_critical_user_.var"
#define LEDGER ".gomp_critical_user_ledger.var"
#else
#define UNNAMED "0"
#define LEDGER ".gomp_critical_user_ledger"
#endif
__asm__(".pushsection .data.rel,\"aw\"\n.balign 8\n.globl unnamed, ledger\n"
        "unnamed: .quad " UNNAMED "\nledger: .quad " LEDGER "\n"
        ".popsection");
extern char *unnamed, *ledger;
static volatile int in_unnamed, in_ledger;

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(5)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 1 || me == 4) {
      if (me == 4) {
        truth_until(&in_ledger);
        TRUTH_WAIT("wait_critical", ledger, __LINE__ + 2);
      }
#pragma omp critical(ledger)
      {
        truth_set(&in_ledger);
        TRUTH_HOLD("work_parallel");
      }
    } else {
      if (me != 0) {
        truth_until(&in_unnamed);
        TRUTH_WAIT("wait_critical", unnamed, __LINE__ + 2);
      }
#pragma omp critical
      {
        truth_set(&in_unnamed);
        truth_trigger("work_parallel", 4);
      }
    }
  }
  return 0;
}
