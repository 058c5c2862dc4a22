// C++ of several kinds: a lock held by a guard object, in an operator, and a named critical
// section in a lambda that is called through a function object. Thread 0 holds the lock and works,
// thread 1 waits for it; thread 2 is in the section and triggers, thread 3 waits for the section.
#include "truth.h"
#include <functional>
#include <vector>

namespace bank {

static omp_lock_t vault;
static volatile int locked, inside;

class Guard {
public:
  __attribute__((noinline)) explicit Guard(int line) {
    if (line)
      truth_enter(TRUTH_SPINNING, "wait_lock", (uint64_t)&vault, "Guard", __FILE__, __LINE__ + 1);
    omp_set_lock(&vault);
    truth_set(&locked);
  }
  ~Guard() { omp_unset_lock(&vault); }
};

struct Account {
  std::vector<double> sums;
  void operator()(int waits) {
    Guard guard(waits);
    sums.push_back(waits);
    TRUTH_HOLD("work_parallel");
  }
};

} // namespace bank

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&bank::vault);
  bank::Account account;
  std::function<void(int)> audit = [](int waits) {
    if (waits) {
      truth_until(&bank::inside);
      TRUTH_WAIT("wait_critical", 0, __LINE__ + 2);
    }
#pragma omp critical(ledger)
    {
      truth_set(&bank::inside);
      truth_trigger("work_parallel", 3);
    }
  };
#pragma omp parallel num_threads(4)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (me == 1)
      truth_until(&bank::locked);
    if (me < 2)
      account(me);
    else
      audit(me - 2);
  }
  return 0;
}
