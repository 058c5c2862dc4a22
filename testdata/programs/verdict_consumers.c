/* Both threads of a team of two wait at a condition variable, one of them in a task. The task
 * that would signal it is queued, and no thread is free to execute it. "1": a third member
 * executes it, and still works. "2": a thread outside the team works, and may signal it. */
#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;
static volatile int begun, works;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void consume(void) {
  pthread_mutex_lock(&mutex);
  truth_set(&begun);
  while (items == 0) {
    TRUTH_SLEEP("wait_condition", &filled, __LINE__ + 1);
    pthread_cond_wait(&filled, &mutex);
  }
  items--;
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void produce(int wait) {
  if (wait)
    TRUTH_HOLD("work_parallel");
  pthread_mutex_lock(&mutex);
  items++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&mutex);
}

static void *elsewhere(void *unused) {
  truth_set(&works);
  while (works)
    pause(); /* works on, for ever */
  produce(0);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t observer, other;
  truth_init(argc, argv, __FILE__);
  long mode = truth_arg(argc, argv, 1, 0);
  pthread_create(&observer, NULL, look, (void *)(mode == 1 ? 3L : 2L));
  if (mode == 2) {
    pthread_create(&other, NULL, elsewhere, NULL);
    truth_until(&works);
  }
#pragma omp parallel num_threads(mode == 1 ? 3 : 2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp task
      consume();
      truth_until(&begun);
#pragma omp task
      produce(begun);
      consume();
    }
  }
  return 0;
}
