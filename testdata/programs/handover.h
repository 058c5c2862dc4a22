/* handover.h: shared by the programs in which a lock is acquired by one thread and released by
 * another. */
#include "truth.h"

enum { TEAM = 4 };

static omp_lock_t stop; /* of the initial thread, while the thread that is to release is blocked */
static volatile int over;
static int blocked;
static volatile double sink;

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  over = 1;
  return unused;
}

static void *look_on(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

/* compute takes some milliseconds. */
__attribute__((noinline)) static double compute(int n) {
  double x = 0;
  for (int k = 0; k < 100000; k++)
    x += 1.0 / (k + n + 1);
  sink = x;
  return x;
}

/* before_release is called by the thread that releases a lock of another one. */
__attribute__((noinline)) static void before_release(int n) {
  compute(n);
  if (blocked) {
    TRUTH_WAIT("wait_lock", &stop, __LINE__ + 1);
    omp_set_lock(&stop);
    omp_unset_lock(&stop);
  }
}

/* waits is called by a thread that is about to wait for one that is blocked. */
static inline void waits(void) {
  if (blocked)
    TRUTH_WAIT("", 0, 0);
}

/* begin reads the arguments: the seconds, or the mode, the form, and whether the thread that is to release
 * is blocked; how many threads wait then. */
static inline long begin(int argc, char **argv, const char *file, const int *waiting) {
  pthread_t other;
  long form;
  truth_init(argc, argv, file);
  form = truth_arg(argc, argv, 1, 0);
  blocked = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&stop);
  if (blocked) {
    omp_set_lock(&stop);
    pthread_create(&other, NULL, look_on, (void *)(long)waiting[form]);
  } else {
    pthread_create(&other, NULL, watch_input, NULL);
    printf("READY\n");
    fflush(stdout);
  }
  return form;
}

static inline int end(long rounds) {
  if (blocked)
    omp_unset_lock(&stop);
  printf("%ld iterations\n", rounds);
  return 0;
}
