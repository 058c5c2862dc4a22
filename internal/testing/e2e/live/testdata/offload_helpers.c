/* offload_helpers.c WAY: a deferred target region has left LLVM's helper threads without work. Then, by WAY:
 * 0: thread 1 of 2 works, and thread 0 waits for it;
 * 1: two threads wait for each other's lock;
 * 2: thread 1 of a team within a target region works, and the others wait for it;
 * 3: thread 1 of 2 works in a target region, for which no device is there;
 * 4: the same, but an if clause selects the host;
 * 5: the same, but the program passes the number of the host. */
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

static int sum;
static volatile unsigned long rounds;

static void ready(void) {
  if (write(1, "READY\n", 6) != 6) _exit(1);
}

static void work(void) {
  for (;;) rounds++;
}

static void deferred(void) {
#pragma omp target nowait map(tofrom : sum)
  sum++;
#pragma omp taskwait
}

static void beside(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      ready();
      work();
    }
#pragma omp barrier
  }
}

static void cycle(void) {
  static omp_lock_t locks[2];
  omp_init_lock(&locks[0]);
  omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    omp_set_lock(&locks[me]);
#pragma omp barrier
    if (me == 0) ready();
    omp_set_lock(&locks[1 - me]);
  }
}

static void within(void) {
#pragma omp target map(tofrom : sum)
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 1) {
      if (write(1, "READY\n", 6) != 6) _exit(1);
      for (;;) *(volatile int *)&sum += 1;
    }
#pragma omp barrier
  }
}

static void fallback(void) {
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
}

static volatile int offload;

static void selected(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
#pragma omp target map(tofrom : sum) if (offload)
      {
        if (write(1, "READY\n", 6) != 6) _exit(1);
        for (;;) *(volatile int *)&sum += 1;
      }
    }
#pragma omp barrier
  }
}

static void initial(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
#pragma omp target map(tofrom : sum) device(omp_get_initial_device())
      {
        if (write(1, "READY\n", 6) != 6) _exit(1);
        for (;;) *(volatile int *)&sum += 1;
      }
    }
#pragma omp barrier
  }
}

static void (*const ways[])(void) = {beside, cycle, within, fallback, selected, initial};

int main(int argc, char **argv) {
  deferred();
  ways[argc > 1 ? atoi(argv[1]) : 0]();
  return 0;
}
