/* The threads of a region wait in poll(2), which the kernel goes on with by another system call after a stop. */
#include <omp.h>
#include <poll.h>
#include <stdio.h>

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
#pragma omp master
    {
      puts("ready");
      fflush(stdout);
    }
    poll(NULL, 0, -1);
#pragma omp barrier
  }
  return 0;
}
