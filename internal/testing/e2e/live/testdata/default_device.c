/* default_device.c: thread 1 of 2 works in a target region for the default device;
 * the program has made the host the default device, by its number. */
#include <omp.h>
#include <unistd.h>

static int sum;

int main(void) {
  omp_set_default_device(omp_get_initial_device());
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
#pragma omp target map(tofrom : sum)
      {
        if (write(1, "READY\n", 6) != 6) _exit(1);
        for (;;) *(volatile int *)&sum += 1;
      }
    }
#pragma omp barrier
  }
  return 0;
}
