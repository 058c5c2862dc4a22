/* A program that loads a library with another OpenMP runtime than its own, that of the file in
 * OMPD_OTHER: both have threads at work. The library calls its own functions, even if both
 * runtimes have one of the same name: otherwise two of LLVM's would call each other's, and crash. */
#include "truth.h"
#include <dlfcn.h>

static volatile int there;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void other(void *arg) {
  (void)arg;
  __atomic_add_fetch(&there, 1, __ATOMIC_SEQ_CST);
  for (;;)
    pause();
}

static void *library(void *arg) {
  void *lib = dlopen(getenv("OMPD_OTHER"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) =
      lib ? (void (*)(void (*)(void *), void *, unsigned, unsigned))dlsym(lib, "GOMP_parallel") : NULL;
  if (!parallel)
    _exit(5);
  parallel(other, arg, 2, 0);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t observer, user;
  truth_init(argc, argv, __FILE__);
  pthread_create(&user, NULL, library, NULL);
  while (__atomic_load_n(&there, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    TRUTH_HOLD("work_parallel");
  }
  return 0;
}
