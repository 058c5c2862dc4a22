/* events2016.c: a runtime with OMPT of LLVM 3.8 to 4.0 (version 2, runtime2016.c) that sends each of its events, with
 * distinct arguments: ids of threads from 11, of regions from 21, of tasks from 31, of locks from 0x1000 on. With the
 * argument "none", each id is 0, the invalid one (ompt_id_none).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void (*callback_t)(void);
typedef callback_t (*lookup_t)(const char *);
typedef uint64_t id;

static callback_t callbacks[128];
static int none;

static int set_callback(int event, callback_t callback) {
  if (event < 1 || event > 60) return 0;
  callbacks[event] = callback;
  return 4;
}
static callback_t lookup(const char *name) {
  return strcmp(name, "ompt_set_callback") == 0 ? (callback_t)set_callback : NULL;
}

#define CALL(event, types, ...) \
  if (callbacks[event] != NULL) ((void(*) types)callbacks[event])(__VA_ARGS__)

static id i(id one) { return none ? 0 : one; }

#define THREAD i(11)
#define INITIAL i(21)
#define REGION i(22)
#define INITIAL_TASK i(31)
#define IMPLICIT i(32)
#define FIRST i(33)
#define SECOND i(34)

static void of_task(int event) { CALL(event, (id, id), REGION, IMPLICIT); }
static void of_wait(int event, id wait) { CALL(event, (id), i(wait)); }

/* scopes sends the events from one number to another, each a beginning or an end. */
static void scopes(int from, int last) {
  for (int event = from; event <= last; event++) of_task(event);
}

static void send_all(void) {
  CALL(5, (int, id), 1, THREAD);
  CALL(24, (id, id), INITIAL, INITIAL_TASK);
  CALL(1, (id, void *, id, uint32_t, void *, int), INITIAL_TASK, NULL, REGION, 4, NULL, 0);
  of_task(22);
  scopes(27, 38); /* loop, sections, single, others, workshare, master */
  of_task(39);    /* a barrier */
  scopes(11, 12);
  of_task(40);
  of_task(41); /* taskwait */
  scopes(13, 14);
  of_task(42);
  of_task(43); /* taskgroup */
  scopes(15, 16);
  of_task(44);
  CALL(3, (id, void *, id, void *), IMPLICIT, NULL, FIRST, NULL);
  CALL(3, (id, void *, id, void *), IMPLICIT, NULL, SECOND, NULL);
  CALL(26, (id, id), IMPLICIT, FIRST);
  CALL(26, (id, id), FIRST, SECOND);
  CALL(4, (id), SECOND);
  CALL(26, (id, id), SECOND, FIRST);
  CALL(4, (id), FIRST);
  CALL(26, (id, id), FIRST, IMPLICIT);
  static const int waits[] = {57, 46, 51, 17, 59, 58, 47, 52, 53, 45, 18, 60, 48, 54, 19, 49, 55, 20, 50, 56, 21};
  static const uint8_t kinds[61] = {[58] = 1, [47] = 1, [52] = 1, [53] = 1, [45] = 1, [18] = 1, [60] = 1, [48] = 2,
                                    [54] = 2, [19] = 2, [49] = 3, [55] = 3, [20] = 3, [50] = 4, [56] = 4, [21] = 4};
  for (unsigned n = 0; n < sizeof waits / sizeof waits[0]; n++) of_wait(waits[n], 0x1000 * (1 + kinds[waits[n]]));
  CALL(7, (uint64_t, uint64_t), 77, 5);
  of_task(23);
  CALL(2, (id, id, int), REGION, INITIAL_TASK, 0);
  CALL(25, (id, id), INITIAL, INITIAL_TASK);
  CALL(9, (id), THREAD);
  CALL(10, (id), THREAD);
  CALL(6, (int, id), 1, THREAD);
  CALL(8, (void), );
}

int main(int argc, char **argv) {
  none = argc > 1 && strcmp(argv[1], "none") == 0;
  void (*(*tool)(void))(lookup_t, const char *, unsigned);
  *(void **)&tool = dlsym(RTLD_DEFAULT, "ompt_tool");
  if (tool == NULL) return 1;
  tool()(lookup, "a runtime of 2016", 2);
  send_all();
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
