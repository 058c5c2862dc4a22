/* A segmentation fault while a team is being formed: in the call of pthread_create for the third
 * worker (or argv[2]) of a team of six. The first two workers exist and sleep in the runtime. */
#include "truth.h"
#include <dlfcn.h>

static int forming, calls, last;

/* The runtime's calls of pthread_create come here, as the executable's symbols go first. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                   void *arg) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  if (forming && ++calls == last) {
    truth_settle();
    truth_end();
  }
  return real(thread, attr, start, arg);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  if (!strcmp(truth_mode, "abort"))
    truth_mode = "segv";
  last = (int)truth_arg(argc, argv, 1, 3);
  truth_ask();
  forming = 1;
#pragma omp parallel num_threads(6)
  TRUTH_NEVER();
  return 0;
}
