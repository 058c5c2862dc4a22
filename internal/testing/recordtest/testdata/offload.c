/* offload.c: target constructs, for a device that is the host. READY is followed by the address of the mapped data. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int mapped[64];

int main(void) {
  if (omp_get_num_devices() < 1) return 1;
#pragma omp target map(tofrom : mapped)
  for (int i = 0; i < 64; i++) mapped[i]++;
#pragma omp target data map(tofrom : mapped)
  {
#pragma omp target teams distribute parallel for num_teams(1) thread_limit(2)
    for (int i = 0; i < 64; i++) mapped[i]++;
#pragma omp target update from(mapped)
  }
#pragma omp target nowait map(tofrom : mapped)
  mapped[0]++;
#pragma omp taskwait
  if (mapped[0] != 3 || mapped[63] != 2) return 1;
  printf("READY %lu\n", (unsigned long)mapped);
  fflush(stdout);
  for (;;) pause();
}
