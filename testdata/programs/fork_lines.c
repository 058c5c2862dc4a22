/* Several regions that main forks, whose calls compilers merge, or give the line of another statement: the argument
 * selects one. Its thread 0 waits at the end, and thread 1 stays in it. */
#include "truth.h"

static double total[8];

__attribute__((noinline)) static void arrive(int me) {
  if (me == 1)
    truth_trigger("work_parallel", 1);
  TRUTH_JOIN(0);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  if (way == 0) {
#pragma omp parallel num_threads(2)
    {
      arrive(omp_get_thread_num());
      total[omp_get_thread_num()] = 1;
    }
  } else if (way == 1) {
    int last = (int)total[7] + 2;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < last; i++) {
      arrive(omp_get_thread_num());
      total[i] = i;
    }
  } else {
#pragma omp parallel num_threads(2)
    {
      total[omp_get_thread_num()] += 1;
      arrive(omp_get_thread_num());
    }
  }
  return total[0] > 1;
}
