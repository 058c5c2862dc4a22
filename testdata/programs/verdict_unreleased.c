/* A detached task outside of all regions, and then regions with tasks. The last one has more
 * threads: LLVM's runtime before 19 does not release its team. With argv[2] 1, the detached task is
 * in a region, and such regions follow each other until the standard input ends. */
#include "truth.h"

static volatile int over;
static int counted, data;

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  over = 1;
  return unused;
}

/* look ends when all tasks have run. */
static void *look(void *unused) {
  struct timespec nap = {0, 1000000};
  while (__atomic_load_n(&counted, __ATOMIC_ACQUIRE) < 3)
    nanosleep(&nap, NULL);
  truth_end();
  return unused;
}

static void count(void) { __atomic_fetch_add(&counted, 1, __ATOMIC_RELEASE); }

static void detached(void) {
  omp_event_handle_t done;
#pragma omp task detach(done)
  omp_fulfill_event(done);
}

__attribute__((noinline)) static void few(void) {
#pragma omp parallel num_threads(2)
#pragma omp master
  {
#pragma omp task
    count();
  }
}

__attribute__((noinline)) static void more(void) {
#pragma omp parallel num_threads(4)
#pragma omp master
  {
#pragma omp task depend(out : data)
    count();
#pragma omp task depend(in : data)
    count();
  }
}

int main(int argc, char **argv) {
  pthread_t other;
  long rounds = 0;
  truth_init(argc, argv, __FILE__);
  if (!truth_arg(argc, argv, 1, 0)) {
    pthread_create(&other, NULL, look, NULL);
    detached();
    few();
    more();
    return 1;
  }
  pthread_create(&other, NULL, watch_input, NULL);
  puts("READY");
  fflush(stdout);
  for (; !over; rounds++) {
#pragma omp parallel num_threads(3)
#pragma omp master
    detached();
    few();
    more();
  }
  printf("%ld iterations\n", rounds);
  return counted != 3 * rounds;
}
