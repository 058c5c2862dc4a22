/* events60.c: a runtime with OMPT of OpenMP 6.0 that sends the values which that version has added (chapter 33). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ompt.h"

static ompt_callback_t callbacks[64];

static int set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
  callbacks[event] = callback;
  return 5;
}
static ompt_interface_fn_t lookup(const char *name) {
  return strcmp(name, "ompt_set_callback") == 0 ? (ompt_interface_fn_t)set_callback : NULL;
}

#define CALL(event, types, ...) ((void(*) types)callbacks[ompt_callback_##event])(__VA_ARGS__)

typedef ompt_data_t *data;
typedef const void *place;

int main(void) {
  static const ompt_dependence_t all_memory[] = {{{0}, 34}, {{0}, 35}, {{0x501}, 7}};
  static const int operations[] = {7, 8, 9, 23, 24, 25}; /* transfer, memset, transfer_rect; their asynchronous forms */
  static ompt_data_t thread, initial, parallel, implicit, made, target, target_task;
  void *host = (void *)0x601, *device = (void *)0x701;
  size_t bytes = 0x801;
  unsigned flags = 0x201; /* to, shared */
  ompt_id_t operation = 0;
  place here = (place)0x401000;
  ompt_start_tool_result_t *(*start)(unsigned, const char *);
  *(void **)&start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  ompt_start_tool_result_t *tool = start == NULL ? NULL : start(202411, "a runtime of 6.0");
  if (tool == NULL || tool->initialize(lookup, 0, &tool->tool_data) == 0) return 1;
  CALL(thread_begin, (int, data), 1, &thread);
  CALL(parallel_begin, (data, void *, data, unsigned, int, place), &initial, NULL, &parallel, 4, 1, here);
  CALL(implicit_task, (int, data, data, unsigned, unsigned, int), 1, &parallel, &implicit, 4, 0, 2);
  for (int end = 1; end <= 2; end++) /* workdistribute */
    CALL(work, (int, int, data, data, uint64_t, place), 9, end, &parallel, &implicit, 100, here);
  CALL(task_create, (data, void *, data, int, int, place), &implicit, NULL, &made, 0x06000004, 1, here);
  CALL(dependences, (data, const ompt_dependence_t *, int), &made, all_memory, 3);
  for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++)
    CALL(target_data_op_emi, (int, data, data, ompt_id_t *, int, void *, int, void *, int, size_t, place), 3,
         &target_task, &target, &operation, operations[i], (void *)0xa01, -1, (void *)0xa02, 3, 0xa03, here);
  CALL(target_map_emi, (data, unsigned, void **, void **, size_t *, unsigned *, place), &target, 1, &host, &device,
       &bytes, &flags, here);
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
