/* runtime2016.c: a small runtime with OMPT of LLVM 3.8 to 4.0 (version 2), and a program in one. Its thread forks a region,
 * executes a loop, acquires a nested lock twice, and waits for another one.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef void (*callback_t)(void);
typedef callback_t (*lookup_t)(const char *);

static callback_t callbacks[128];
static int june;    /* it has what the report of June 2016 has */
static int unknown; /* it has a version that no document describes */

static int set_callback(int event, callback_t callback) {
  callbacks[event] = callback;
  return 4;
}
static callback_t lookup(const char *name) {
  if (june && strcmp(name, "ompt_get_thread_data") == 0) return (callback_t)lookup;
  return strcmp(name, "ompt_set_callback") == 0 ? (callback_t)set_callback : NULL;
}

#define CALL(event, types, ...) ((void(*) types)callbacks[event])(__VA_ARGS__)
typedef uint64_t id;

int main(int argc, char **argv) {
  june = argc > 1 && strcmp(argv[1], "june") == 0;
  unknown = argc > 1 && !june;
  const char *set = getenv("OMP_TOOL");
  void (*(*tool)(void))(lookup_t, const char *, unsigned) = NULL;
  if (set == NULL || strcasecmp(set, "disabled") != 0) *(void **)&tool = dlsym(RTLD_DEFAULT, "ompt_tool");
  if (tool != NULL) tool()(lookup, "a runtime of 2016", unknown ? (unsigned)atoi(argv[1]) : 2);
  if (tool != NULL && callbacks[1] == NULL && !june && !unknown) return 1;
  if (tool != NULL && !june && !unknown) {
    CALL(5, (int, id), 1, 11);                                         /* thread_begin, initial */
    CALL(24, (id, id), 21, 31);                                        /* initial_task_begin */
    CALL(1, (id, void *, id, uint32_t, void *, int), 31, NULL, 22, 4, NULL, 0); /* parallel_begin */
    CALL(22, (id, id), 22, 32);                                        /* implicit_task_begin */
    CALL(3, (id, void *, id, void *), 32, NULL, 33, NULL);             /* task_begin */
    CALL(26, (id, id), 32, 33);                                        /* task_switch */
    CALL(4, (id), 33);                                                 /* task_end */
    CALL(26, (id, id), 33, 32);
    CALL(27, (id, id), 22, 32);                                        /* loop_begin */
    CALL(28, (id, id), 22, 32);                                        /* loop_end */
    CALL(37, (id, id), 22, 32);                                        /* master_begin */
    CALL(38, (id, id), 22, 32);                                        /* master_end */
    CALL(7, (uint64_t, uint64_t), 7, 1);                               /* control */
    CALL(39, (id, id), 22, 32);                                        /* barrier_begin */
    CALL(40, (id, id), 22, 32);                                        /* barrier_end */
    CALL(47, (id), 0x1000);                                            /* wait_nest_lock */
    CALL(52, (id), 0x1000);                                            /* acquired_nest_lock_first */
    CALL(53, (id), 0x1000);                                            /* acquired_nest_lock_next */
    CALL(45, (id), 0x1000);                                            /* release_nest_lock_prev */
    CALL(46, (id), 0x2000);                                            /* wait_lock */
  }
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
