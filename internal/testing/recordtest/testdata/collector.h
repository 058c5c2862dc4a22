/* collector.h: requests of Sun's collector API, for the collectors of the tests. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "omp_collector_api.h"

static int (*api)(void *);

typedef void (*event_callback)(OMP_COLLECTORAPI_EVENT);

/* request is one entry, followed by the end of the list. */
struct request {
  int32_t size, request, error, answer;
  union {
    struct {
      int32_t event;
      event_callback callback;
    } enroll;
    struct {
      int32_t state;
      void *wait_id;
    } state;
    uint64_t region;
  } memory;
  int32_t end;
};

static struct request ask(int32_t number) {
  struct request r = {.size = 16 + sizeof r.memory, .request = number};
  if (api(&r) != 0) r.error = -1;
  return r;
}

static int32_t enroll(int32_t event, event_callback callback) {
  struct request r = {.size = 16 + sizeof r.memory, .request = OMP_REQ_REGISTER};
  r.memory.enroll.event = event;
  r.memory.enroll.callback = callback;
  return api(&r) == 0 ? r.error : -1;
}

static void find_api(void) {
  *(void **)&api = dlsym(RTLD_DEFAULT, OMP_COLLECTOR_API);
  if (api == NULL) {
    fprintf(stderr, "no " OMP_COLLECTOR_API "\n");
    exit(1);
  }
}
