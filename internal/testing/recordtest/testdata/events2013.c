/* events2013.c: a runtime with OMPT of the draft of 2013 that sends each event of the draft (A.2), with the arguments of
 * the event's type (A.3), all of them distinct. Before its exit, the first explicit task ends, so that the next switch
 * has no data of a suspended task (3.2.2). With the argument "null", each pointer of each event is NULL. With "NUMBER
 * NUMBER ...", it does not support these events.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef union {
  uint64_t value;
  void *ptr;
} data_t;
typedef struct {
  void *exit_runtime_frame, *reenter_runtime_frame;
} frame_t;
typedef uint64_t id;
typedef void (*callback_t)(void);

static callback_t callbacks[58];
static int refused[58], null;

__attribute__((visibility("default"))) int ompt_set_callback(int event, callback_t callback) {
  if (event < 1 || event > 57) return 0;
  if (refused[event]) return 2; /* never */
  callbacks[event] = callback;
  return 4;
}
__attribute__((visibility("default"))) int ompt_get_ompt_version(void) { return 1; }

#define CALL(event, types, ...) \
  if (callbacks[event] != NULL) ((void(*) types)callbacks[event])(__VA_ARGS__)

static data_t initial, first, second, implicit, thread;
static frame_t frame;

static void *p(void *pointer) { return null ? NULL : pointer; }

static void of_thread(int event) { CALL(event, (data_t *), p(&thread)); }
static void of_task(int event, id region) { CALL(event, (data_t *, id), p(&implicit), region); }
static void of_wait(int event, id wait) { CALL(event, (id), wait); }
static void new_parallel(int event, id region) {
  CALL(event, (data_t *, frame_t *, id), p(&initial), p(&frame), region);
}
static void new_task(data_t *made) { CALL(3, (data_t *, frame_t *, data_t *), p(&implicit), p(&frame), p(made)); }
static void to(data_t *from, data_t *next) { CALL(24, (data_t *, data_t *), p(from), p(next)); }

/* scopes sends the events from one number to another, each a beginning or an end. */
static void scopes(int from, int last, id region) {
  for (int event = from; event <= last; event++) of_task(event, region);
}

static void send_all(id region) {
  of_thread(5);
  new_parallel(1, region);
  of_task(22, region);
  scopes(25, 34, region); /* loop, section, single, others, master */
  of_task(35, region);    /* a barrier that waits twice */
  for (int i = 0; i < 2; i++) scopes(11, 12, region);
  of_task(36, region);
  of_task(37, region); /* taskwait */
  scopes(13, 14, region);
  of_task(38, region);
  of_task(39, region); /* taskgroup */
  scopes(15, 16, region);
  of_task(40, region);
  new_task(&first);
  new_task(&second);
  to(&implicit, &first);
  CALL(4, (data_t *), p(&first));
  to(NULL, &second);
  CALL(4, (data_t *), p(&second));
  to(NULL, &implicit);
  static const int waits[] = {53, 42, 47, 17, 55, 54, 43, 48, 49, 41, 18, 56, 44, 50, 19, 45, 51, 20, 46, 52, 21};
  for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    static const uint8_t kinds[58] = {[43] = 1, [48] = 1, [49] = 1, [41] = 1, [18] = 1, [54] = 1, [56] = 1,
                                      [44] = 2, [50] = 2, [19] = 2, [45] = 3, [51] = 3, [20] = 3, [46] = 4,
                                      [52] = 4, [21] = 4};
    of_wait(waits[i], 0x1000 * (1 + kinds[waits[i]]));
  }
  of_thread(57);
  CALL(7, (uint64_t, uint64_t), 77, 5);
  scopes(11, 12, region); /* the barrier at the end of the region */
  of_task(23, region);
  new_parallel(2, region);
  of_thread(9);
  of_thread(10);
  of_thread(6);
  CALL(8, (void), );
}

int main(int argc, char **argv) {
  null = argc > 1 && strcmp(argv[1], "null") == 0;
  for (int i = 1; i < argc && !null; i++) refused[atoi(argv[i]) % 58] = 1;
  int (*initialize)(void);
  *(void **)&initialize = dlsym(RTLD_DEFAULT, "ompt_initialize");
  if (initialize == NULL || initialize() != 1) return 1;
  send_all(4711);
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
