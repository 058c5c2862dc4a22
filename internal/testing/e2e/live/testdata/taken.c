// Tasks that one thread executes while the other one spins in the program's code. A test executes that thread's
// instructions one by one.
#include <omp.h>
#include <stdio.h>

volatile int execute[2]; // by thread number: set by the test
static int cell, sum;

static void add(int n) {
#pragma omp atomic
  sum += n;
}

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp masked
    {
#pragma omp task depend(out : cell)
      add(1);
#pragma omp task depend(in : cell)
      add(2);
#pragma omp task
      add(3);
      puts("ready");
      fflush(stdout);
    }
    while (!execute[omp_get_thread_num()])
      ;
#pragma omp taskwait
#pragma omp barrier
    while (sum)
      ;
  }
}
