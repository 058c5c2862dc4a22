/* A worker of a team is deep in functions with arguments, and the thread that forked the team in one, too. */
#include "truth.h"

struct point {
  int x, y;
};

static int descend(struct point at, const double *values, const char *name, int left) {
  if (left > 0)
    return descend(at, values, name, left - 1) + 1;
  if (omp_get_thread_num() == 1)
    truth_trigger("work_parallel", 1);
  TRUTH_HOLD("work_parallel");
  return at.x + (int)values[0] + name[0];
}

static int spread(struct point at, const double *values, int count) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum += descend(at, values, "deep", 2);
  }
  return sum + count;
}

int main(int argc, char **argv) {
  double values[2] = {1, 2};
  struct point at = {3, -4};
  truth_init(argc, argv, __FILE__);
  return spread(at, values, argc) == 0;
}
