/* A detached task hands its event to a server thread, which sleeps on a condition variable and never
 * fulfils it. The program stops the server after the region, by a signal. With argv[2] 1, the server
 * still works on the request, and would fulfil the event. */
#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static omp_event_handle_t event;
static int requests, stop;
static volatile int taken, works;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (;;) {
    if (taken)
      TRUTH_SLEEP("work_parallel", 0, __LINE__ + 2);
    while (!requests && !stop)
      pthread_cond_wait(&changed, &mutex);
    if (!requests)
      break;
    requests--;
    truth_set(&taken);
    if (works) {
      truth_enter(TRUTH_HELD, "work_parallel", 0, __func__, __FILE__, __LINE__ + 2);
      while (works) /* the compiler must keep the call below */
        pause();
      omp_fulfill_event(event);
    } else if (requests) {
      omp_fulfill_event(event); /* of another request */
    }
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

__attribute__((noinline)) static void submit(omp_event_handle_t done) {
  pthread_mutex_lock(&mutex);
  event = done;
  requests++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void finish(pthread_t server) {
  pthread_mutex_lock(&mutex);
  stop = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(server, NULL);
}

int main(int argc, char **argv) {
  pthread_t observer, server;
  works = (int)truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  pthread_create(&observer, NULL, look, (void *)3);
  pthread_create(&server, NULL, serve, NULL);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      omp_event_handle_t done;
#pragma omp task detach(done)
      submit(done);
      truth_until(&taken);
      TRUTH_WAIT("wait_taskwait", 0, __LINE__ + 1);
#pragma omp taskwait
      TRUTH_NEVER();
    }
    TRUTH_WAIT("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
  }
  finish(server);
  return 0;
}
