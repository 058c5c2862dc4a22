/* events.h: the callbacks of ompt.c and rare.c that other parts call: the interception of GNU's runtime (gomp.c) and
 * the interfaces before OpenMP 5.0 (legacy/). */
#ifndef OMPD_RECORDER_EVENTS_H
#define OMPD_RECORDER_EVENTS_H

#include "state.h"

hidden void on_thread_begin(int type, ompt_data_t *thread);
hidden void on_thread_end(ompt_data_t *thread);
hidden void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                              unsigned requested, int flags, const void *code);
hidden void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code);
hidden void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                             unsigned actual, unsigned index, int flags);
/* The same, directly after another event of the thread (at_once of slot_begin). */
hidden void on_parallel_end_at_once(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code);
hidden void on_implicit_task_at_once(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                                     unsigned actual, unsigned index, int flags);
hidden void on_task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                           int dependences, const void *code);
hidden void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next);
hidden void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                           ompt_data_t *task, const void *code);
/* on_sync_region_unrecorded replaces on_sync_region where that is not recorded: it keeps the words of implicit tasks
 * right (taskwords.h). */
hidden void on_sync_region_unrecorded(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                                      ompt_data_t *task, const void *code);
hidden void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                                ompt_data_t *task, const void *code);
hidden void on_work(int kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                    uint64_t count, const void *code);
hidden void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait_id,
                             const void *code);
hidden void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code);
hidden void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code);
hidden void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t wait_id, const void *code);
hidden void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait_id, const void *code);
hidden void on_lock_destroy(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code);
hidden void on_dependences(ompt_data_t *task, const ompt_dependence_t *list, int n);
hidden void on_cancel(ompt_data_t *task, int flags, const void *code);
hidden void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code);
hidden void on_flush(ompt_data_t *thread, const void *code);
hidden int on_control_tool(uint64_t command, uint64_t modifier, void *argument, const void *code);

#endif
