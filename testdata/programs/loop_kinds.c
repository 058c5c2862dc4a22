/* Each thread of a team stays in its first chunk of a loop of 100 iterations, i =
 * 10, 12, ..., 208; or in one of three sections. The argument is the kind of loop. */
#include "truth.h"

/* A compiler that sees that stay never returns has one call of it for all four constructs. */
static volatile int stays = 1;

static void stay(void) {
  if (!stays)
    return;
  if (omp_get_thread_num() == 1)
    TRUTH_HOLD("work_parallel");
  else
    truth_trigger("work_parallel", 1);
}

int main(int argc, char **argv) {
  long kind = truth_arg(argc, argv, 1, 1);
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (kind == 1) {
#pragma omp for schedule(monotonic : dynamic, 5)
      for (int i = 10; i < 210; i += 2)
        stay();
    } else if (kind == 2) {
#pragma omp for schedule(guided, 3)
      for (long i = 10; i < 210; i += 2)
        stay();
    } else if (kind == 4) {
#pragma omp sections
      {
        stay();
#pragma omp section
        stay();
#pragma omp section
        stay();
      }
    } else {
#pragma omp for schedule(dynamic, 5) ordered
      for (int i = 10; i < 210; i += 2) {
        stay();
#pragma omp ordered
        TRUTH_NEVER();
      }
    }
  }
  return 0;
}
