/* crew_library.c: a library with threads of its own, which execute functions that are passed to it. They are idle. */
#include <pthread.h>

typedef void job(void *);

static struct {
  job *function;
  void *argument;
} queue[16];
static int head, tail;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *serve(void *unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (head == tail)
      pthread_cond_wait(&filled, &mutex);
    job *function = queue[head % 16].function;
    void *argument = queue[head++ % 16].argument;
    pthread_mutex_unlock(&mutex);
    function(argument);
  }
  return unused;
}

void crew_add(job *function, void *argument) {
  pthread_mutex_lock(&mutex);
  queue[tail % 16].function = function;
  queue[tail++ % 16].argument = argument;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  for (int i = 0; i < 3; i++)
    pthread_create(&thread, 0, serve, 0);
}
