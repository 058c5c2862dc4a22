/* reference.c: a tool that prints each event in the form of docs/guide/recorder.md for the recorder, as the second tool:
 * LWP code kind endpoint value a b, and the contents of records MORE. It is the recorder's next tool in TestSameEvents.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ompt.h"

static int file;

static __thread char *end; /* of the line that the thread makes */
static __thread char line[1 << 12];

static void begin(unsigned code, unsigned kind, unsigned endpoint, uint64_t value, uint64_t a, uint64_t b) {
  end = line + snprintf(line, sizeof line, "%ld %u %u %u %u %lu %lu", syscall(SYS_gettid), code, kind & 0xff, endpoint,
                        (unsigned)value, a & ((1ul << 48) - 1), b);
}
static void add(uint64_t n) { end += snprintf(end, line + sizeof line - end, " %lu", n); }
static void done(void) {
  *end++ = '\n';
  if (write(file, line, end - line) != end - line) abort();
}

static void say(unsigned code, unsigned kind, unsigned endpoint, uint64_t value, uint64_t a, uint64_t b) {
  begin(code, kind, endpoint, value, a, b);
  done();
}
static void say_more(unsigned code, unsigned kind, unsigned endpoint, uint64_t value, uint64_t a, uint64_t b,
                     uint64_t more) {
  begin(code, kind, endpoint, value, a, b);
  add(more);
  done();
}

#define P(x) ((uint64_t)(x))

static void thread_begin(int type, ompt_data_t *t) { say(1, type, 0, syscall(SYS_gettid), 0, P(t)); }
static void thread_end(ompt_data_t *t) { say(2, 0, 0, syscall(SYS_gettid), 0, P(t)); }
static void parallel_begin(ompt_data_t *t, const ompt_frame_t *f, ompt_data_t *p, unsigned n, int flags, const void *ra) {
  say_more(3, (flags & 3) | (flags & 0x40000000 ? 4 : 0), 1, n, P(ra), P(p), P(t));
}
static void parallel_end(ompt_data_t *p, ompt_data_t *t, int flags, const void *ra) {
  say_more(4, (flags & 3) | (flags & 0x40000000 ? 4 : 0), 2, 0, P(ra), P(p), P(t));
}
static void task_create(ompt_data_t *t, const ompt_frame_t *f, ompt_data_t *n, int flags, int deps, const void *ra) {
  say_more(5, deps, 0, flags, P(ra), P(n), P(t));
}
static void task_schedule(ompt_data_t *p, int status, ompt_data_t *n) { say(6, status, 0, 0, P(p), P(n)); }
static void implicit_task(int e, ompt_data_t *p, ompt_data_t *t, unsigned n, unsigned i, int flags) {
  say_more(7, flags, e, n, P(p), P(t), i);
}
static __thread struct place {
  long kind, endpoint;
  void *parallel, *task;
  const void *code;
} outer, inner; /* of the last sync_region and sync_region_wait */
static void sync_region_wait(int kind, int e, ompt_data_t *p, ompt_data_t *t, const void *ra) {
  if (kind == 6) {
    say(16, kind, e, P(p), P(ra), P(t));
    return;
  }
  struct place now = {kind, e, p, t, ra}; /* the recorder keeps one record of both: they begin and end together */
  if (e == 1 ? memcmp(&now, &outer, sizeof now) != 0 : (inner = now, 0)) abort();
}
static void sync_region(int kind, int e, ompt_data_t *p, ompt_data_t *t, const void *ra) {
  struct place now = {kind, e, p, t, ra};
  if (kind != 6 && e == 2 && memcmp(&now, &inner, sizeof now) != 0) abort();
  if (e == 1) outer = now;
  say_more(23, kind, e, P(p), P(ra), P(t), kind != 6);
}
static void reduction(int kind, int e, ompt_data_t *p, ompt_data_t *t, const void *ra) {
  say(31, kind, e, P(p), P(ra), P(t));
}
static void released(int kind, uint64_t w, const void *ra) { say(17, kind, 0, 0, P(ra), w); }
static void dependences(ompt_data_t *t, const ompt_dependence_t *d, int n) {
  begin(18, 0, 0, n, P(t), 0);
  for (int i = 0; i < n; i++) {
    add(d[i].variable.value);
    add(d[i].dependence_type);
  }
  done();
}
static void task_dependence(ompt_data_t *a, ompt_data_t *b) { say(19, 0, 0, 0, P(a), P(b)); }
static void work(int kind, int e, ompt_data_t *p, ompt_data_t *t, uint64_t n, const void *ra) {
  say_more(20, kind, e, P(p), P(ra), P(t), n);
}
static void masked(int e, ompt_data_t *p, ompt_data_t *t, const void *ra) { say(21, 0, e, P(p), P(ra), P(t)); }
static void lock_init(int kind, unsigned hint, unsigned impl, uint64_t w, const void *ra) {
  say(24, kind, 0, hint | impl << 24, P(ra), w);
}
static void lock_destroy(int kind, uint64_t w, const void *ra) { say(25, kind, 0, 0, P(ra), w); }
static void acquire(int kind, unsigned hint, unsigned impl, uint64_t w, const void *ra) {
  say(26, kind, 0, hint | impl << 24, P(ra), w);
}
static void acquired(int kind, uint64_t w, const void *ra) { say(27, kind, 0, 0, P(ra), w); }
static void nest_lock(int e, uint64_t w, const void *ra) { say(28, 0, e, 0, P(ra), w); }
static void flush(ompt_data_t *t, const void *ra) { say(29, 0, 0, 0, P(ra), P(t)); }
static void cancel(ompt_data_t *t, int flags, const void *ra) { say(30, 0, 0, flags, P(ra), P(t)); }
static void dispatch(ompt_data_t *p, ompt_data_t *t, int kind, ompt_data_t i) {
  const uint64_t *chunk = i.ptr;
  begin(32, kind, 0, P(p), 0, P(t));
  add(kind >= 3 && kind <= 5 ? chunk[0] : i.value);
  add(kind >= 3 && kind <= 5 ? chunk[1] : 0);
  done();
}
static void error(int severity, const char *m, size_t n, const void *ra) {
  begin(37, severity, 0, n, P(ra), n);
  for (size_t i = 0; i < n; i++) add((unsigned char)m[i]);
  done();
}
static int control_tool(uint64_t command, uint64_t modifier, void *arg, const void *ra) {
  if (command == 64)
    say(67, 0, 0, 0, P(ra), modifier);
  else
    say(11, 0, 0, command, P(ra), modifier);
  return 3;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  static const struct {
    int code;
    void *f;
  } all[] = {{1, thread_begin},   {2, thread_end},    {3, parallel_begin}, {4, parallel_end},      {5, task_create},
             {6, task_schedule},  {7, implicit_task}, {16, sync_region_wait}, {23, sync_region},   {31, reduction},
             {17, released},      {18, dependences},  {19, task_dependence}, {20, work},           {21, masked},
             {24, lock_init},     {25, lock_destroy}, {26, acquire},       {27, acquired},         {28, nest_lock},
             {29, flush},         {30, cancel},       {32, dispatch},      {37, error},            {11, control_tool}};
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) set(all[i].code, (ompt_callback_t)all[i].f);
  return 1;
}

static void finalize(ompt_data_t *data) {}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  file = open(getenv("REFERENCE"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  return &result;
}
