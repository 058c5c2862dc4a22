/* version2.c: runtimes with OMPT as it was between the draft of 2013 and OpenMP 5.0 (version 2). They call ompt_tool,
 * and then the function that it returns, with a lookup. Their events contain the runtime's ids of threads, regions and
 * tasks, by value. The numbers and arguments of events are those of ompt.h in an LLVM runtime of that time.
 */
#include <stdio.h>

#include "legacy.h"
#include "mutex.h"
#include "sync.h"

typedef uint64_t id;

static void thread_begin(int type, id thread) { on_thread_begin(type, &(ompt_data_t){.value = thread}); }
static void thread_end(int type, id thread) {
    (void)type;
    on_thread_end(&(ompt_data_t){.value = thread});
}

/* The invoker of a region is 0 for the program and 1 for the runtime; in OpenMP 5.0 it is 1 and 2. */
static void parallel_begin(id task, void *frame, id parallel, uint32_t size, void *function, int invoker) {
    (void)frame, (void)function;
    on_parallel_begin(&(ompt_data_t){.value = task}, NULL, &(ompt_data_t){.value = parallel}, size, invoker + 1, NULL);
}
static void parallel_end(id parallel, id task, int invoker) {
    on_parallel_end(&(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, invoker + 1, NULL);
}

static void task_begin(id task, void *frame, id made, void *function) {
    (void)frame, (void)function;
    on_task_create(&(ompt_data_t){.value = task}, NULL, &(ompt_data_t){.value = made}, ompt_task_explicit, 0, NULL);
}
static void task_end(id task) { record_exit(&(ompt_data_t){.value = task}); }
static void task_switch_to(id from, id to) {
    record_resume(&(ompt_data_t){.value = from}, &(ompt_data_t){.value = to});
}

static void record_implicit(ompt_scope_endpoint_t endpoint, id parallel, id task, int flags) {
    on_implicit_task(endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, 0, 0, flags);
}
static void implicit_begin(id parallel, id task) { record_implicit(ompt_scope_begin, parallel, task, ompt_task_implicit); }
static void implicit_end(id parallel, id task) { record_implicit(ompt_scope_end, parallel, task, ompt_task_implicit); }
static void initial_begin(id parallel, id task) { record_implicit(ompt_scope_begin, parallel, task, ompt_task_initial); }
static void initial_end(id parallel, id task) { record_implicit(ompt_scope_end, parallel, task, ompt_task_initial); }

/* SCOPE defines the two callbacks of a task's region: of synchronization (SYNC), or of worksharing (WORK), which has a
 * count. */
#define SCOPE(name)                                                                            \
    static void name##_begin(id parallel, id task) { name(ompt_scope_begin, parallel, task); } \
    static void name##_end(id parallel, id task) { name(ompt_scope_end, parallel, task); }
#define SYNC(name, event, kind)                                                                        \
    static void name(ompt_scope_endpoint_t endpoint, id parallel, id task) {                           \
        event(kind, endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task});       \
    }                                                                                                  \
    SCOPE(name)
#define WORK(name, kind)                                                                                    \
    static void name(ompt_scope_endpoint_t endpoint, id parallel, id task) {                                \
        on_work(kind, endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, 0, NULL); \
    }                                                                                                       \
    SCOPE(name)
SYNC(barrier, record_region, ompt_sync_region_barrier)
SYNC(taskwait, record_region, ompt_sync_region_taskwait)
SYNC(taskgroup, record_taskgroup, ompt_sync_region_taskgroup)
SYNC(wait_barrier, record_wait, ompt_sync_region_barrier)
SYNC(wait_taskwait, record_wait, ompt_sync_region_taskwait)
SYNC(wait_taskgroup, record_wait, ompt_sync_region_taskgroup)
WORK(loop, ompt_work_loop)
WORK(sections, ompt_work_sections)
WORK(single, ompt_work_single_executor)
WORK(others, ompt_work_single_other)
WORK(workshare, ompt_work_workshare)

static void master_begin(id parallel, id task) {
    on_masked(ompt_scope_begin, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, NULL);
}
static void master_end(id parallel, id task) {
    on_masked(ompt_scope_end, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, NULL);
}

static void idle_begin(id thread) { record_idle(ompt_scope_begin, thread); }
static void idle_end(id thread) { record_idle(ompt_scope_end, thread); }

/* The events by ompt_event_t. */
static const struct legacy_event events[] = {
    [1] = EVENT(parallel_begin, parallel_begin), EVENT(parallel_end, parallel_end), EVENT(task_begin, task_create),
    EVENT(task_end, task_schedule), EVENT(thread_begin, thread_begin), EVENT(thread_end, thread_end),
    EVENT(control, control_tool),
    [LEGACY_WAIT_BARRIER] = WAITING(wait_barrier_begin), WAITING(wait_barrier_end), WAITING(wait_taskwait_begin),
    WAITING(wait_taskwait_end), EVENT(wait_taskgroup_begin, sync_region_wait),
    EVENT(wait_taskgroup_end, sync_region_wait),
    EVENT(lock_released, mutex_released), EVENT(nest_released, mutex_released),
    EVENT(critical_released, mutex_released), EVENT(atomic_released, mutex_released),
    EVENT(ordered_released, mutex_released),
    EVENT(implicit_begin, implicit_task), EVENT(implicit_end, implicit_task), EVENT(initial_begin, implicit_task),
    EVENT(initial_end, implicit_task), EVENT(task_switch_to, task_schedule), EVENT(loop_begin, work),
    EVENT(loop_end, work),
    EVENT(sections_begin, work), EVENT(sections_end, work), EVENT(single_begin, work), EVENT(single_end, work),
    EVENT(others_begin, work), EVENT(others_end, work), EVENT(workshare_begin, work), EVENT(workshare_end, work),
    EVENT(master_begin, masked), EVENT(master_end, masked), REGION(barrier_begin), REGION(barrier_end),
    REGION(taskwait_begin), REGION(taskwait_end), EVENT(taskgroup_begin, sync_region), EVENT(taskgroup_end, sync_region),
    EVENT(nest_less, nest_lock), EVENT(lock_wait, mutex_acquire), EVENT(nest_wait, mutex_acquire),
    EVENT(critical_wait, mutex_acquire), EVENT(atomic_wait, mutex_acquire), EVENT(ordered_wait, mutex_acquire),
    EVENT(lock_acquired, mutex_acquired), EVENT(nest_acquired, mutex_acquired), EVENT(nest_deeper, nest_lock),
    EVENT(critical_acquired, mutex_acquired), EVENT(atomic_acquired, mutex_acquired),
    EVENT(ordered_acquired, mutex_acquired), EVENT(lock_init, lock_init), EVENT(nest_init, lock_init),
    EVENT(lock_destroy, lock_destroy), EVENT(nest_destroy, lock_destroy),
};

/* is_report2016 reports whether the runtime implements the report of June 2016: its ids are words of the tool, by
 * reference, and the numbers of its events are not known. */
static bool is_report2016(ompt_function_lookup_t lookup) {
    return lookup("ompt_get_thread_id") == NULL && lookup("ompt_get_thread_data") != NULL;
}

static void initialize(ompt_function_lookup_t lookup, const char *runtime, unsigned version) {
    legacy_set_t set = (legacy_set_t)lookup("ompt_set_callback");
    if (version != 2 || set == NULL || is_report2016(lookup)) {
        fprintf(stderr, "libompd-recorder: unknown version of OMPT in the runtime; nothing is recorded\n");
        return;
    }
    if (!recorder_start(RECORDER_SOURCE_OMPT, 0, runtime)) return;
    recorder_head->ids = RECORDER_IDS_RUNTIME;
    recorder_upper = 32;
    recorder_given = 1;
    register_all(set, events, sizeof events / sizeof events[0], (ompt_callback_t)idle_begin,
                 (ompt_callback_t)idle_end);
}

/* ompt_tool is called by such a runtime, unless OMP_TOOL is disabled. */
exported void (*ompt_tool(void))(ompt_function_lookup_t, const char *, unsigned) {
    return initialize;
}
