/* A thread that the program created uses a null pointer while it holds a lock that another
 * thread of its team waits for. A third thread waits for its end, but for none of its locks. */
#include "truth.h"

static omp_lock_t queue;
static volatile int ready;
static int *volatile empty;

__attribute__((noinline)) static void drain(void) {
  omp_set_lock(&queue);
  truth_set(&ready);
  truth_await(2);
  truth_write(1);
  *empty = 1;
  omp_unset_lock(&queue);
}

static void *work(void *unused) {
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      drain();
    } else {
      truth_until(&ready);
      TRUTH_WAIT("wait_lock", &queue, __LINE__ + 1);
      omp_set_lock(&queue);
      TRUTH_NEVER();
    }
  }
  return unused;
}

static void *join(void *worker) {
  __atomic_store_n(&truth_slot()->place, TRUTH_ASLEEP, __ATOMIC_RELEASE);
  pthread_join(*(pthread_t *)worker, NULL);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t worker, joiner;
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&queue);
  pthread_create(&worker, NULL, work, NULL);
  pthread_create(&joiner, NULL, join, &worker);
  pthread_join(joiner, NULL);
  return 0;
}
