/* Forks between two parallel regions of different size; its child has a region, too. The
 * exit status is 0 if all sums are right. */
#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int stop_here(int n) { return n + 1; }
static int region(int threads) {
  int n = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    if (omp_get_thread_num() == 0) n = stop_here(threads);
#pragma omp barrier
  }
  return n;
}
int main(void) {
  region(3);
  if (fork() == 0) _exit(region(2) != 3);
  wait(NULL);
  return region(4) != 5;
}
