/* target_constructs.c WAY: thread 1 of 3 encounters a target construct, and the others wait for it at a barrier. The
 * copy of `data` to a device takes forever with device_driver.c. In the last way, the region works without end. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COPIED = 76543 };
static char data[COPIED];
static unsigned long rounds[8];

static void scale(int device) {
#pragma omp target map(to : data) device(device)
  {
    if (data[0]) rounds[0] = 1;
  }
}

static void enter(int device) {
#pragma omp target enter data map(to : data) device(device)
}

static void refresh(int device) {
#pragma omp target enter data map(alloc : data) device(device)
#pragma omp target update to(data) device(device)
}

static void deferred(int device) {
#pragma omp target nowait map(to : data)
  {
    if (data[device]) rounds[0] = 1;
  }
#pragma omp taskwait
}

static void work(int device) {
#pragma omp target map(tofrom : rounds) device(device)
  for (volatile unsigned long i = 0;; i = i + 1) rounds[i % 8] += i;
}

static void (*const constructs[])(int) = {scale, enter, refresh, deferred, work};

int main(int argc, char **argv) {
  int way = argc > 1 ? atoi(argv[1]) : 0;
  if (way == 4 && write(1, "READY\n", 6) != 6) return 1;
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 1) constructs[way](2);
#pragma omp barrier
  }
  return 0;
}
