// Names of C++: a parallel region in a member function of a template in a namespace, called by a
// lambda, with a task made in another lambda. Thread 1 runs the task, thread 0 waits for it.
#include "truth.h"

namespace solver {

static volatile int started;

template <typename T, int N> class Grid {
public:
  template <typename Step> void run(Step step) {
#pragma omp parallel num_threads(N)
    {
      TRUTH_REGION(__LINE__ - 2);
      if (omp_get_thread_num() == 0) {
#pragma omp task
        step(T(1));
        truth_until(&started);
        TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
        TRUTH_NEVER();
      }
      TRUTH_JOIN_TASKS(__LINE__ - 10);
    }
  }
};

} // namespace solver

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  solver::Grid<double, 2> grid;
  auto step = [](double by) {
    if (by > 0) {
      truth_set(&solver::started);
      truth_tasks("running", 1, 16, truth_tid());
      truth_trigger("work_parallel", 1);
    }
  };
  auto all = [&] { grid.run(step); };
  all();
  return 0;
}
