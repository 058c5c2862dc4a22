/* collector_ends.c: with LIBRARY, a collector that stops, or does not, when the process ends: the data of its callbacks
 * is gone then. Until then its requests are answered. Without LIBRARY, a program with workers that ends. */
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "omp_collector_api.h"

static int gone, called;
static int (*api)(void *);

static void event(OMP_COLLECTORAPI_EVENT e) {
  (void)e;
  if (gone) abort();
  __atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void) {
  api = (int (*)(void *))dlsym(RTLD_DEFAULT, "__omp_collector_api");
  int32_t request[5] = {16, OMP_REQ_START, 0, 0, 0};
  void (*callback)(OMP_COLLECTORAPI_EVENT) = event;
  if (api == NULL || api(request) != 0) abort();
  for (int32_t e = 1; e < 23; e++) {
    int32_t entry[8] = {28, OMP_REQ_REGISTER, 0, 0, e};
    memcpy(&entry[5], &callback, sizeof callback);
    if (api(entry) != 0) abort();
  }
}

__attribute__((destructor)) static void end(void) {
  int32_t questions[25] __attribute__((aligned(8))) = {32, OMP_REQ_STATE, -1};
  questions[8] = 24, questions[9] = OMP_REQ_CURRENT_PRID, questions[10] = -1;
  questions[14] = 16, questions[15] = OMP_REQ_STOP, questions[16] = -1;
  if (getenv("STOPS") == NULL) questions[14] = 0;
  if (called == 0) _exit(3);
  gone = 1;
  if (api(questions) != 0 || questions[2] != 0 || questions[4] != THR_SERIAL_STATE || questions[10] != 0) _exit(4);
  if (getenv("STOPS") != NULL && questions[16] != 0) _exit(5);
}
#else
int main(void) {
  int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  n++;
  printf("%d\n", n);
  return 0;
}
#endif
