/* All members of a team sleep on a condition variable. A thread that works on will lead to the signal, by a function
 * that no call of its code names: "0" the destructor of its thread-specific data, "1" a thread that it starts with
 * the function of a variable, "2" a comparison that the C library calls, "3" a function for the end of the process,
 * after the return of main. A second argument of 1: it never ends, or the functions do not signal. */
#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int items;
static long way, never;
static volatile int working, works = 1;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

static void fill(void) {
  pthread_mutex_lock(&mutex);
  items = 1;
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&mutex);
}

static void destroy(void *unused) {
  (void)unused;
  fill();
}

static void *supply(void *unused) {
  fill();
  return unused;
}

static void *idle(void *unused) { return unused; }

static int ordered(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int signalling(const void *a, const void *b) {
  fill();
  return ordered(a, b);
}

__attribute__((noinline)) static void work(void) {
  truth_set(&working);
  while (works)
    pause(); /* works on, for ever */
}

static void *end_later(void *unused) {
  pthread_setspecific(key, &items);
  work();
  return unused;
}

static void *never_end(void *unused) {
  for (;;)
    work();
  return unused;
}

static void *start_later(void *function) {
  pthread_t one;
  for (;;) {
    work();
    pthread_create(&one, NULL, (void *(*)(void *))function, NULL);
  }
  return NULL;
}

static void *start_idle(void *unused) {
  pthread_t one;
  for (;;) {
    work();
    pthread_create(&one, NULL, idle, unused);
  }
  return NULL;
}

static void *sort_later(void *compare) {
  int numbers[] = {3, 1, 2};
  for (;;) {
    work();
    qsort(numbers, 3, sizeof numbers[0], (int (*)(const void *, const void *))compare);
  }
  return NULL;
}

static void *sort_plainly(void *unused) {
  int numbers[] = {3, 1, 2};
  for (;;) {
    work();
    qsort(numbers, 3, sizeof numbers[0], ordered);
  }
  return unused;
}

__attribute__((noinline)) static void sleep_until_filled(void) {
  TRUTH_SLEEP("work_parallel", 0, 0);
  pthread_mutex_lock(&mutex);
  while (!items)
    pthread_cond_wait(&filled, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void *team(void *unused) {
#pragma omp parallel num_threads(2)
  sleep_until_filled();
  return unused;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument) {
  if (pthread_create(thread, NULL, function, argument) != 0)
    _exit(3);
}

int main(int argc, char **argv) {
  pthread_t observer, other;
  truth_init(argc, argv, __FILE__);
  way = truth_arg(argc, argv, 1, 0);
  never = truth_arg(argc, argv, 2, 0);
  pthread_key_create(&key, destroy);
  atexit(fill);
  start(&observer, look, (void *)2);
  if (way == 3) {
    start(&other, team, NULL);
    if (never)
      never_end(NULL);
    work();
    return 0;
  }
  switch (way) {
  case 0:
    start(&other, never ? never_end : end_later, NULL);
    break;
  case 1:
    start(&other, never ? start_idle : start_later, (void *)supply);
    break;
  default:
    start(&other, never ? sort_plainly : sort_later, (void *)signalling);
  }
  truth_until(&working);
  team(NULL);
  return 0;
}
