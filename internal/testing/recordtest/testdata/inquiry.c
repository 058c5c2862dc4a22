/* inquiry.c: a tool that calls all inquiry functions of a runtime (OpenMP 5.1, 4.6.1), through the lookup function that
 * the recorder passes to it; and, without TOOL, the program for it.
 */
#include <stdio.h>

#ifndef TOOL
#include <omp.h>
#include <unistd.h>

static omp_lock_t lock;

int main(void) {
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
  }
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
#else
#include <stdlib.h>
#include <string.h>

#include "ompt.h"

static FILE *out;
static ompt_data_t *(*thread_data)(void);
static int (*get_state)(ompt_wait_id_t *);
static int (*parallel_info)(int, ompt_data_t **, int *);
static int (*task_info)(int, int *, ompt_data_t **, ompt_frame_t **, ompt_data_t **, int *);
static int (*target_info)(uint64_t *, ompt_id_t *, ompt_id_t *);

static void on_thread_begin(int type, ompt_data_t *thread) {
  (void)type;
  thread->value = 4711;
}

/* on_mutex_acquire makes its inquiries in the region, on one thread after the other. */
static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait_id,
                             const void *code) {
  ompt_data_t *parallel = NULL, *outer = NULL, *task = NULL;
  ompt_frame_t *frame = NULL;
  int size = 0, flags = 0, number = -1;
  uint64_t device;
  ompt_id_t target, operation;
  (void)kind, (void)hint, (void)impl, (void)wait_id, (void)code;
  int in = parallel_info(0, &parallel, &size), beyond = parallel_info(2, &outer, &size);
  parallel_info(0, &parallel, &size);
  int is = task_info(0, &flags, &task, &frame, &parallel, &number);
  fprintf(out, "in %d %d size %d task %d %#x number %d exit %d enter %d data %d state %d target %d\n", in, beyond, size,
          is, flags & 0xff, number, frame != NULL && frame->exit_frame.ptr != NULL,
          frame != NULL && frame->enter_frame.ptr != NULL, (int)thread_data()->value, get_state(&wait_id),
          target_info(&device, &target, &operation));
  fflush(out);
}

/* Many tools use this name, with default visibility. The recorder has a function of this name, too. */
int ompt_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
  static const char *const others[] = {
      "ompt_set_callback", "ompt_get_callback", "ompt_get_num_procs", "ompt_get_num_places", "ompt_get_place_proc_ids",
      "ompt_get_place_num", "ompt_get_partition_place_nums", "ompt_get_proc_id", "ompt_get_unique_id",
      "ompt_get_num_devices", "ompt_get_task_memory", "ompt_finalize_tool",
  };
  (void)device, (void)data;
  int state = 0, impl = 0;
  const char *name;
  int (*states)(int, int *, const char **) = (int (*)(int, int *, const char **))lookup("ompt_enumerate_states");
  int (*impls)(int, int *, const char **) = (int (*)(int, int *, const char **))lookup("ompt_enumerate_mutex_impls");
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  int (*get)(int, ompt_callback_t *) = (int (*)(int, ompt_callback_t *))lookup("ompt_get_callback");
  ompt_callback_t callback = NULL;
  thread_data = (ompt_data_t * (*)(void)) lookup("ompt_get_thread_data");
  get_state = (int (*)(ompt_wait_id_t *))lookup("ompt_get_state");
  parallel_info = (int (*)(int, ompt_data_t **, int *))lookup("ompt_get_parallel_info");
  *(ompt_interface_fn_t *)&task_info = lookup("ompt_get_task_info");
  *(ompt_interface_fn_t *)&target_info = lookup("ompt_get_target_info");
  for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
    if (lookup(others[i]) == NULL) fprintf(out, "no %s\n", others[i]);
  while (states(state, &state, &name)) fprintf(out, "state %#x %s\n", state, name);
  while (impls(impl, &impl, &name)) fprintf(out, "impl %d %s\n", impl, name);
  set(ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin);
  set(ompt_callback_mutex_acquire, (ompt_callback_t)on_mutex_acquire);
  fprintf(out, "callback %d", get(ompt_callback_mutex_acquire, &callback));
  fprintf(out, " %d", callback == (ompt_callback_t)on_mutex_acquire);
  fprintf(out, " %d\n", get(ompt_callback_work, &callback));
  fflush(out);
  return 1;
}
static void finalize(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
  static ompt_start_tool_result_t result = {ompt_initialize, finalize, {0}};
  out = fopen(getenv("ANSWERS"), "w");
  (void)version, (void)runtime;
  return out == NULL ? NULL : &result;
}
#endif
