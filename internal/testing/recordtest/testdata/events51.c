/* events51.c: a runtime with OMPT of OpenMP 5.1 that sends each callback once (section 4.5.2), with distinct arguments.
 * With the argument "null", each pointer is NULL; with "old", the events of devices have the form without "emi".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ompt.h"

static ompt_callback_t callbacks[64];
static int null, old;

static int set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
  if (old && event >= ompt_callback_target_emi && event <= ompt_callback_target_map_emi) return 1; /* never */
  callbacks[event] = callback;
  return 5;
}
static ompt_interface_fn_t lookup(const char *name) {
  return strcmp(name, "ompt_set_callback") == 0 ? (ompt_interface_fn_t)set_callback : NULL;
}

#define CALL(event, types, ...)                      \
  if (callbacks[ompt_callback_##event] != NULL) \
  ((void(*) types)callbacks[ompt_callback_##event])(__VA_ARGS__)

static void *p(const void *pointer) { return null ? NULL : (void *)pointer; }

typedef ompt_data_t *data;
typedef const void *place;

static ompt_data_t thread, initial, parallel, implicit, made, target, target_task;
static ompt_frame_t frame;

static void host_events(place here) {
  static const ompt_dependence_t three[] = {{{0x501}, 1}, {{0x502}, 2}, {{0x503}, 3}};
  static const ompt_dependence_t one[] = {{{0x504}, 3}};
  static const ompt_dispatch_chunk_t chunk = {40, 8};
  CALL(thread_begin, (int, data), 1, p(&thread));
  CALL(parallel_begin, (data, void *, data, unsigned, int, place), p(&initial), p(&frame), p(&parallel), 4, 1, here);
  CALL(implicit_task, (int, data, data, unsigned, unsigned, int), 1, p(&parallel), p(&implicit), 4, 0, 2);
  CALL(work, (int, int, data, data, uint64_t, place), 1, 1, p(&parallel), p(&implicit), 100, here);
  CALL(dispatch, (data, data, int, ompt_data_t), p(&parallel), p(&implicit), 3, (ompt_data_t){.ptr = p(&chunk)});
  CALL(work, (int, int, data, data, uint64_t, place), 1, 2, p(&parallel), p(&implicit), 0, here);
  CALL(masked, (int, data, data, place), 3, p(&parallel), p(&implicit), here);
  CALL(task_create, (data, void *, data, int, int, place), p(&implicit), p(&frame), p(&made), 4, 1, here);
  CALL(dependences, (data, const ompt_dependence_t *, int), p(&made), p(three), 3);
  CALL(dependences, (data, const ompt_dependence_t *, int), p(&made), p(one), 1);
  CALL(task_dependence, (data, data), p(&implicit), p(&made));
  CALL(task_schedule, (data, int, data), p(&implicit), 7, p(&made));
  CALL(task_schedule, (data, int, data), p(&made), 1, p(&implicit));
  for (int end = 1; end <= 2; end++) {
    CALL(sync_region, (int, int, data, data, place), 3, end, p(&parallel), p(&implicit), here);
    CALL(sync_region_wait, (int, int, data, data, place), 3, end, p(&parallel), p(&implicit), here);
    CALL(reduction, (int, int, data, data, place), 7, end, p(&parallel), p(&implicit), here);
  }
  CALL(lock_init, (int, unsigned, unsigned, uint64_t, place), 1, 2, 3, 0x1000, here);
  CALL(mutex_acquire, (int, unsigned, unsigned, uint64_t, place), 1, 2, 3, 0x1000, here);
  CALL(mutex_acquired, (int, uint64_t, place), 1, 0x1000, here);
  CALL(nest_lock, (int, uint64_t, place), 1, 0x2000, here);
  CALL(mutex_released, (int, uint64_t, place), 1, 0x1000, here);
  CALL(lock_destroy, (int, uint64_t, place), 1, 0x1000, here);
  CALL(flush, (data, place), p(&thread), here);
  CALL(cancel, (data, int, place), p(&implicit), 0x11, here);
  CALL(error, (int, const char *, size_t, place), 2, p("a message"), 9, here);
  CALL(control_tool, (uint64_t, uint64_t, void *, place), 77, 5, p(&made), here);
}

static void device_events(place here) {
  void *hosts[] = {(void *)0x601, (void *)0x602}, *devices[] = {(void *)0x701, (void *)0x702};
  size_t bytes[] = {0x801, 0x802};
  unsigned flags[] = {1, 0x13};
  ompt_id_t operation = 0;
  CALL(device_initialize, (int, const char *, void *, ompt_function_lookup_t, const char *), 3, p("a type"),
       p(&frame), (ompt_function_lookup_t)p((void *)(uintptr_t)lookup), p("no documentation"));
  CALL(device_load, (int, const char *, int64_t, void *, size_t, void *, void *, uint64_t), 3, p("image"), 16,
       p((void *)0x901), 64, p((void *)0x902), p((void *)0x903), 7);
  for (int end = 1; end <= 2; end++) {
    CALL(target_emi, (int, int, int, data, data, data, place), 1, end, 3, p(&implicit), p(&target_task), p(&target),
         here);
    CALL(target, (int, int, int, data, ompt_id_t, place), 1, end, 3, p(&implicit), 9, here);
    if (end == 2) break;
    for (int e = 1; e <= 2; e++) {
      CALL(target_data_op_emi, (int, data, data, ompt_id_t *, int, void *, int, void *, int, size_t, place), e,
           p(&target_task), p(&target), p(&operation), 2, p((void *)0xa01), -1, p((void *)0xa02), 3, 0xa03, here);
      CALL(target_submit_emi, (int, data, ompt_id_t *, unsigned), e, p(&target), p(&operation), 4);
    }
    CALL(target_data_op, (ompt_id_t, ompt_id_t, int, void *, int, void *, int, size_t, place), 9, 10, 2,
         p((void *)0xa01), -1, p((void *)0xa02), 3, 0xa03, here);
    CALL(target_submit, (ompt_id_t, ompt_id_t, unsigned), 9, 11, 4);
    CALL(target_map_emi, (data, unsigned, void **, void **, size_t *, unsigned *, place), p(&target), 2, p(hosts),
         p(devices), p(bytes), p(flags), here);
    CALL(target_map, (ompt_id_t, unsigned, void **, void **, size_t *, unsigned *, place), 9, 2, p(hosts), p(devices),
         p(bytes), p(flags), here);
  }
  CALL(device_unload, (int, uint64_t), 3, 7);
  CALL(device_finalize, (int), 3);
}

int main(int argc, char **argv) {
  null = argc > 1 && strcmp(argv[1], "null") == 0;
  old = argc > 1 && strcmp(argv[1], "old") == 0;
  ompt_start_tool_result_t *(*start)(unsigned, const char *);
  *(void **)&start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  ompt_start_tool_result_t *tool = start == NULL ? NULL : start(202011, null ? NULL : "a runtime of 5.1");
  if (tool == NULL || tool->initialize(lookup, 0, &tool->tool_data) == 0) return 1;
  host_events(p((void *)0x401000));
  device_events(p((void *)0x401000));
  CALL(implicit_task, (int, data, data, unsigned, unsigned, int), 2, NULL, p(&implicit), 0, 0, 2);
  CALL(parallel_end, (data, data, int, place), p(&parallel), p(&initial), 1, p((void *)0x401000));
  CALL(thread_end, (data), p(&thread));
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
