/* A team of three, with an inner team of two in one of its threads, and an OMPT tool in the
 * program: it gives every thread, region and implicit task a number that follows from its identity.
 */
#include <omp-tools.h>

#include "truth.h"

/* Numbers: a thread's with its LWP, a region's with the size of its team, an implicit task's with its number. */
enum { THREAD = 0x70000000, REGION = 0x50000000, TASK = 0x60000000 };

static void thread_begin(ompt_thread_t type, ompt_data_t *data) {
  (void)type;
  data->value = THREAD + (uint64_t)truth_tid();
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *data, unsigned int size,
                           int flags, const void *ra) {
  (void)task, (void)frame, (void)flags, (void)ra;
  data->value = REGION + size;
}

static void implicit_task(ompt_scope_endpoint_t at, ompt_data_t *region, ompt_data_t *data, unsigned int size,
                          unsigned int number, int flags) {
  (void)region, (void)size;
  if (at == ompt_scope_begin && !(flags & ompt_task_initial))
    data->value = TASK + number;
}

static int begin(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  (void)device, (void)data;
  set(ompt_callback_thread_begin, (ompt_callback_t)thread_begin);
  set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
  set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
  return 1;
}

static void end(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime) {
  static ompt_start_tool_result_t result = {begin, end, {0}};
  (void)version, (void)runtime;
  return &result;
}

static void inner(void) {
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      truth_trigger("work_parallel", 3);
    TRUTH_SLEEP("wait_barrier_explicit", 0, __LINE__ + 1);
#pragma omp barrier
    TRUTH_NEVER();
  }
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1)
      inner();
    TRUTH_JOIN(__LINE__ - 5);
  }
  return 0;
}
