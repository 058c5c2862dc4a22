// A program without OpenMP: threads with thread-local variables, in the program
// itself, in a library that it was linked with and in one that it loads.
// It prints, for each thread, its ids and what it sees, and then aborts or waits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread int mine = 4;
int global_data = 77;
char untouched[64 << 10] __attribute__((aligned(4096)));
const char constant[3 * 4096] __attribute__((aligned(4096))) = "constant";

static pthread_barrier_t told;
static pthread_mutex_t print = PTHREAD_MUTEX_INITIALIZER;
static int *(*loaded)(void); // address of the loaded library's variable

static void tell(int touch) {
  pthread_mutex_lock(&print);
  printf("thread %ld %#lx mine %p %d loaded %p\n", (long)syscall(SYS_gettid), (unsigned long)pthread_self(),
         (void *)&mine, mine, touch && loaded ? (void *)loaded() : NULL);
  fflush(stdout);
  pthread_mutex_unlock(&print);
}

static void *work(void *arg) {
  mine = (int)(long)arg;
  tell((long)arg % 2);
  pthread_barrier_wait(&told);
  for (;;)
    pause();
}

int main(int argc, char **argv) {
  enum { threads = 3 };
  struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &unlimited);
#ifdef LOAD
  void *lib = dlopen(LOAD, RTLD_NOW);
  if (!lib)
    return 3;
  loaded = (int *(*)(void))dlsym(lib, "address_of_loaded");
#endif
  printf("symbols %p %p %p %p\n", (void *)main, (void *)&global_data, (void *)untouched, (void *)constant);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 64 << 10);
  pthread_barrier_init(&told, NULL, threads + 1);
  for (long i = 0; i < threads; i++) {
    pthread_t t;
    if (pthread_create(&t, &attr, work, (void *)(100 + i)))
      return 2;
  }
  tell(1);
  pthread_barrier_wait(&told);
  puts("ready");
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "abort"))
    abort();
  for (;;)
    pause();
}
