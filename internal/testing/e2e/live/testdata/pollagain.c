/* The threads of a region wait in poll(2), which the kernel resumes by another system call after a stop. */
#include <omp.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int ends[2];
  if (pipe(ends))
    return 3;
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
#pragma omp master
    {
      puts("ready");
      fflush(stdout);
    }
    struct pollfd wait = {ends[0], POLLIN, 0};
    poll(&wait, 1, -1);
#pragma omp barrier
  }
  return 0;
}
