/* collector_requests.c: each request of Sun's collector API, right and wrong, and their required order. It
 * prints the number of its checks, or the one that failed.
 */
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "collector.h"

static int checks, failures;

#define IS(what, want)                                                                   \
  do {                                                                                   \
    long is_ = (long)(what), want_ = (long)(want);                                       \
    checks++;                                                                            \
    if (is_ != want_) {                                                                  \
      failures++;                                                                        \
      printf("line %d: " #what " is %ld, want " #want " (%ld)\n", __LINE__, is_, want_); \
    }                                                                                    \
  } while (0)

/* entry writes the header of an entry at p, and returns the start of the next one. */
static char *entry(char *p, int size, int request) {
  int32_t header[4] = {size, request, -7, -7};
  memcpy(p, header, sizeof header);
  return p + size;
}

static int32_t field(const char *p, int i) {
  int32_t v;
  memcpy(&v, p + 4 * i, sizeof v);
  return v;
}
#define ERROR(p) field(p, 2)
#define SIZE(p) field(p, 3)

static _Alignas(16) char buffer[4096];

/* one makes a request of some bytes of memory and returns its error. */
static int32_t one(int request, int room) {
  entry(entry(buffer, 16 + room, request), 0, 0);
  return api(buffer) == 0 ? ERROR(buffer) : -1;
}

static void malformed(void) {
  memset(buffer, 0, sizeof buffer);
  IS(api(NULL), -1);
  IS(api(buffer + 2), -1); /* not aligned */
  IS(api(buffer), 0);      /* an empty list */
  const int sizes[] = {4, 12, 15, 18, 21, -16, -1, 0x7fffffff};
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    entry(buffer, 16, OMP_REQ_LAST + 5);
    int32_t wrong[4] = {sizes[i], OMP_REQ_STATE, -7, -7};
    memcpy(buffer + 16, wrong, sizeof wrong);
    IS(api(buffer), -1);
    IS(ERROR(buffer), OMP_ERRCODE_UNKNOWN); /* the one before was answered */
    IS(ERROR(buffer + 16), -7);
  }
  IS(one(-1, 16), OMP_ERRCODE_UNKNOWN);
  IS(one(OMP_REQ_LAST, 16), OMP_ERRCODE_UNKNOWN);
}

static void nothing(OMP_COLLECTORAPI_EVENT e) { (void)e; }

/* registering registers every event. GNU's runtime does not support those of master. */
static void registering(bool master) {
  for (int event = 1; event <= OMP_EVENT_THR_END_ATWT; event++) {
    bool is_master = event == OMP_EVENT_THR_BEGIN_MASTER || event == OMP_EVENT_THR_END_MASTER;
    IS(enroll(event, nothing), !is_master || master ? OMP_ERRCODE_OK : OMP_ERRCODE_UNSUPPORTED);
  }
  IS(enroll(0, nothing), OMP_ERRCODE_UNKNOWN);
  IS(enroll(-5, nothing), OMP_ERRCODE_UNKNOWN);
  IS(enroll(23, nothing), OMP_ERRCODE_UNKNOWN);
  IS(enroll(OMP_EVENT_THR_RESERVED_IMPL, nothing), OMP_ERRCODE_UNKNOWN);
  IS(enroll(OMP_EVENT_FORK, NULL), OMP_ERRCODE_ERROR);
  /* The callback directly after the event: 12 bytes, aligned to 4. */
  void (*callback)(OMP_COLLECTORAPI_EVENT) = nothing;
  int32_t event = OMP_EVENT_JOIN;
  memcpy(buffer + 20, &event, 4);
  memcpy(buffer + 24, &callback, 8);
  entry(entry(buffer + 4, 16 + 12, OMP_REQ_REGISTER), 0, 0);
  IS(api(buffer + 4), 0);
  IS(ERROR(buffer + 4), OMP_ERRCODE_OK);
  memcpy(buffer + 20, &event, 4);
  entry(entry(buffer + 4, 16 + 16, OMP_REQ_REGISTER), 0, 0);
  api(buffer + 4);
  IS(ERROR(buffer + 4), OMP_ERRCODE_ERROR); /* the callback is not aligned */
  IS(one(OMP_REQ_REGISTER, 0), OMP_ERRCODE_ERROR);
  IS(one(OMP_REQ_REGISTER, 8), OMP_ERRCODE_ERROR);
  IS(one(OMP_REQ_UNREGISTER, 0), OMP_ERRCODE_ERROR);
  for (event = 1; event <= OMP_EVENT_THR_END_ATWT; event++) {
    memcpy(buffer + 16, &event, 4);
    IS(one(OMP_REQ_UNREGISTER, 4), OMP_ERRCODE_OK); /* also those that were not registered */
  }
  event = 99;
  memcpy(buffer + 16, &event, 4);
  IS(one(OMP_REQ_UNREGISTER, 4), OMP_ERRCODE_UNKNOWN);
}

static void answers(void) {
  IS(one(OMP_REQ_STATE, 16), OMP_ERRCODE_OK);
  IS(SIZE(buffer), 16);
  IS(field(buffer, 4), THR_SERIAL_STATE);
  IS(one(OMP_REQ_STATE, 4), OMP_ERRCODE_OK); /* there is no wait id */
  IS(SIZE(buffer), 4);
  IS(one(OMP_REQ_STATE, 0), OMP_ERRCODE_MEM_TOO_SMALL);
  IS(SIZE(buffer), 16);
  for (int request = OMP_REQ_CURRENT_PRID; request <= OMP_REQ_PARENT_PRID; request++) {
    memset(buffer + 16, 1, 64);
    IS(one(request, 8), OMP_ERRCODE_OK);
    IS(SIZE(buffer), 8);
    IS(field(buffer, 4) | field(buffer, 5), 0);
    IS(one(request, 64), OMP_ERRCODE_OK); /* more than it needs */
    memset(buffer + 16, 1, 64);
    IS(one(request, 4), OMP_ERRCODE_MEM_TOO_SMALL);
    IS(SIZE(buffer), 8);
    IS(field(buffer, 4), 0x01010101); /* as it was */
    entry(entry(buffer + 4, 24, request), 0, 0);
    api(buffer + 4);
    IS(ERROR(buffer + 4), OMP_ERRCODE_ERROR); /* not aligned to 8 */
  }
  /* All in one message, in their order. */
  char *p = entry(buffer, 32, OMP_REQ_STATE), *q = entry(p, 24, OMP_REQ_CURRENT_PRID), *r = entry(q, 16, 77);
  char *s = entry(r, 16, OMP_REQ_PAUSE), *end = entry(s, 16, OMP_REQ_RESUME);
  entry(end, 0, 0);
  IS(api(buffer), 0);
  IS(ERROR(buffer), OMP_ERRCODE_OK);
  IS(ERROR(p), OMP_ERRCODE_OK);
  IS(ERROR(q), OMP_ERRCODE_UNKNOWN);
  IS(ERROR(r), OMP_ERRCODE_OK);
  IS(ERROR(s), OMP_ERRCODE_OK);
}

static int forks, joins;
static void forked(OMP_COLLECTORAPI_EVENT e) { forks += e == OMP_EVENT_FORK; }
static void joined(OMP_COLLECTORAPI_EVENT e) { joins += e == OMP_EVENT_JOIN; }

static void region(void) {
#pragma omp parallel num_threads(2)
  __asm__ volatile("");
}

/* sequence is start, pause, resume and stop, with regions in between. */
static void sequence(void) {
  IS(ask(OMP_REQ_START).error, OMP_ERRCODE_SEQUENCE_ERR); /* it is started */
  IS(enroll(OMP_EVENT_FORK, joined), OMP_ERRCODE_OK);
  IS(enroll(OMP_EVENT_FORK, forked), OMP_ERRCODE_OK); /* in place of the first one */
  region();
  IS(forks, 1);
  IS(joins, 0);
  IS(ask(OMP_REQ_PAUSE).error, OMP_ERRCODE_OK);
  IS(ask(OMP_REQ_PAUSE).error, OMP_ERRCODE_OK);
  IS(enroll(OMP_EVENT_JOIN, joined), OMP_ERRCODE_OK); /* counts after it was resumed */
  region();
  IS(forks, 1);
  IS(joins, 0);
  IS(ask(OMP_REQ_RESUME).error, OMP_ERRCODE_OK);
  IS(ask(OMP_REQ_RESUME).error, OMP_ERRCODE_OK);
  region();
  IS(forks, 2);
  IS(joins, 1);
  int32_t join = OMP_EVENT_JOIN;
  memcpy(buffer + 16, &join, 4);
  IS(one(OMP_REQ_UNREGISTER, 4), OMP_ERRCODE_OK);
  region();
  IS(forks, 3);
  IS(joins, 1); /* its callback was removed */
  IS(ask(OMP_REQ_STOP).error, OMP_ERRCODE_OK);
  region();
  IS(forks, 3);
  for (int request = OMP_REQ_REGISTER; request < OMP_REQ_LAST; request++)
    IS(one(request, 64), OMP_ERRCODE_SEQUENCE_ERR);
  IS(ask(OMP_REQ_START).error, OMP_ERRCODE_OK);
  region();
  IS(forks, 3); /* callbacks were given up by the stop */
  IS(enroll(OMP_EVENT_FORK, forked), OMP_ERRCODE_OK);
  region();
  IS(forks, 4);
}

/* stranger is a thread that OpenMP has not created and that has not used OpenMP. */
static void *stranger(void *unused) {
  (void)unused;
  struct request r = ask(OMP_REQ_STATE);
  IS(r.error, OMP_ERRCODE_OK);
  IS(r.memory.state.state, THR_SERIAL_STATE);
  r = ask(OMP_REQ_CURRENT_PRID);
  IS(r.error, OMP_ERRCODE_OK);
  IS(r.memory.region, 0);
  IS(ask(OMP_REQ_PARENT_PRID).error, OMP_ERRCODE_THREAD_ERR);
  return NULL;
}

/* regions makes requests inside nested regions: ids differ, and their masters get the id of the outer region. */
static void regions(void) {
  uint64_t outer[2], inner[2], parent[2];
  int32_t worker = -1, state[2];
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    int i = omp_get_thread_num();
    outer[i] = ask(OMP_REQ_CURRENT_PRID).memory.region;
    struct request up = ask(OMP_REQ_PARENT_PRID);
    if (i == 1) worker = up.error;
    if (i == 0) parent[1] = up.memory.region;
    if (i == 1) {
#pragma omp parallel num_threads(2)
      {
        int k = omp_get_thread_num();
        inner[k] = ask(OMP_REQ_CURRENT_PRID).memory.region;
        if (k == 0) parent[0] = ask(OMP_REQ_PARENT_PRID).memory.region;
        state[k] = ask(OMP_REQ_STATE).memory.state.state;
      }
    }
  }
  IS(outer[0] == outer[1] && outer[0] != 0, true);
  IS(inner[0] == inner[1] && inner[0] != 0 && inner[0] != outer[0], true);
  IS(worker, OMP_ERRCODE_THREAD_ERR);
  IS(parent[0] == outer[1], true);
  IS(parent[1], 0);
  IS(state[0], THR_WORK_STATE);
  IS(state[1], THR_WORK_STATE);
  IS(ask(OMP_REQ_CURRENT_PRID).memory.region, 0);
  IS(ask(OMP_REQ_STATE).memory.state.state, THR_SERIAL_STATE);
}

int main(int argc, char **argv) {
  bool gnu = argc > 1 && strcmp(argv[1], "gnu") == 0, late = argc > 1 && strcmp(argv[1], "late") == 0;
  alarm(3600); /* for an event that never happens */
  find_api();
  IS(one(OMP_REQ_STATE, 16), OMP_ERRCODE_SEQUENCE_ERR); /* the start comes first */
  if (late) { /* the runtime has no tool */
    IS(ask(OMP_REQ_START).error, OMP_ERRCODE_SEQUENCE_ERR);
    IS(one(OMP_REQ_STATE, 16), OMP_ERRCODE_SEQUENCE_ERR);
  } else {
    pthread_t thread;
    malformed();
    IS(ask(OMP_REQ_START).error, OMP_ERRCODE_OK);
    answers();
    registering(!gnu);
    sequence();
    regions();
    pthread_create(&thread, NULL, stranger, NULL);
    pthread_join(thread, NULL);
  }
  printf("%d checks, %d failed\n", checks, failures);
  return 0;
}
