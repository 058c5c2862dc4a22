/* Threads wait for a lock of a thread that has ended: a mutex (argv[2] 0), or a nest lock (1). */
#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static omp_nest_lock_t nest;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *take(void *what) {
  if (what)
    omp_set_nest_lock(&nest);
  else
    pthread_mutex_lock(&mutex);
  return NULL;
}

__attribute__((noinline)) static void use(long what) {
  if (what) {
    TRUTH_WAIT("wait_lock", &nest, __LINE__ + 1);
    omp_set_nest_lock(&nest);
  } else {
    TRUTH_SLEEP("work_parallel", 0, __LINE__ + 1);
    pthread_mutex_lock(&mutex);
  }
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer, taker;
  long what = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  omp_init_nest_lock(&nest);
  pthread_create(&taker, NULL, take, (void *)what);
  pthread_join(taker, NULL);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    use(what);
  }
  return 0;
}
