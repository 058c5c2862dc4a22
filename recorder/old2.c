//go:build ignore
/* old2.c: runtimes that know OMPT as it was between the draft of 2013 and OpenMP 5.0 (version 2). They call ompt_tool,
 * and the function that it returns with a lookup; events have the runtime's ids of threads, regions and tasks, by value.
 * The numbers of events and their arguments are those of an ompt.h of an LLVM runtime of that time.
 */
#include <stdio.h>

#include "old.h"
#include "old_locks.h"
#include "state.h"

typedef uint64_t id;

static void thread_begin(int type, id thread) { on_thread_begin(type, &(ompt_data_t){.value = thread}); }
static void thread_end(int type, id thread) {
    (void)type;
    on_thread_end(&(ompt_data_t){.value = thread});
}

/* The invoker of a region: 0 the program, 1 the runtime; of OpenMP 5.0, 1 and 2. */
static void parallel_begin(id task, void *frame, id parallel, uint32_t size, void *function, int invoker) {
    (void)frame, (void)function;
    on_parallel_begin(&(ompt_data_t){.value = task}, NULL, &(ompt_data_t){.value = parallel}, size, invoker + 1, NULL);
}
static void parallel_end(id parallel, id task, int invoker) {
    on_parallel_end(&(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, invoker + 1, NULL);
}

static void task_begin(id task, void *frame, id made, void *function) {
    (void)frame, (void)function;
    on_task_create(&(ompt_data_t){.value = task}, NULL, &(ompt_data_t){.value = made}, 4 /* explicit */, 0, NULL);
}
static void task_end(id task) {
    on_task_schedule(&(ompt_data_t){.value = task}, ompt_task_complete, NULL);
}
static void task_switch_to(id from, id to) {
    on_task_schedule(&(ompt_data_t){.value = from}, ompt_task_switch, &(ompt_data_t){.value = to});
}

static void implicit(ompt_scope_endpoint_t endpoint, id parallel, id task, int flags) {
    on_implicit_task(endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, 0, 0, flags);
}
static void implicit_begin(id parallel, id task) { implicit(ompt_scope_begin, parallel, task, ompt_task_implicit); }
static void implicit_end(id parallel, id task) { implicit(ompt_scope_end, parallel, task, ompt_task_implicit); }
static void initial_begin(id parallel, id task) { implicit(ompt_scope_begin, parallel, task, ompt_task_initial); }
static void initial_end(id parallel, id task) { implicit(ompt_scope_end, parallel, task, ompt_task_initial); }

/* SCOPE has the two callbacks of a region of a task: of synchronization, or of worksharing, which has a count. */
#define SCOPE(name)                                                                            \
    static void name##_begin(id parallel, id task) { name(ompt_scope_begin, parallel, task); } \
    static void name##_end(id parallel, id task) { name(ompt_scope_end, parallel, task); }
#define SYNC(name, event, kind)                                                                            \
    static void name(ompt_scope_endpoint_t endpoint, id parallel, id task) {                               \
        event(kind, endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, NULL);     \
    }                                                                                                      \
    SCOPE(name)
#define WORK(name, kind)                                                                                   \
    static void name(ompt_scope_endpoint_t endpoint, id parallel, id task) {                               \
        on_work(kind, endpoint, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, 0, NULL); \
    }                                                                                                      \
    SCOPE(name)
SYNC(barrier, on_sync_region, ompt_sync_region_barrier)
SYNC(taskwait, on_sync_region, ompt_sync_region_taskwait)
SYNC(taskgroup, on_sync_region, ompt_sync_region_taskgroup)
SYNC(taskgroup_wait, on_sync_region_wait, ompt_sync_region_taskgroup)
WORK(loop, 1)
WORK(sections, 2)
WORK(single, 3)
WORK(others, 4)
WORK(workshare, 5)

static void master_begin(id parallel, id task) {
    on_masked(ompt_scope_begin, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, NULL);
}
static void master_end(id parallel, id task) {
    on_masked(ompt_scope_end, &(ompt_data_t){.value = parallel}, &(ompt_data_t){.value = task}, NULL);
}

/* By the numbers of ompt_event_t. The waits of barriers and taskwaits begin and end with their regions (SYNC), and are
 * asked for where a runtime does not tell of these. */
static const struct old_event events[] = {
    [1] = OLD(parallel_begin, parallel_begin), OLD(parallel_end, parallel_end), OLD(task_begin, task_create),
    OLD(task_end, task_schedule), OLD(thread_begin, thread_begin), OLD(thread_end, thread_end),
    OLD(control, control_tool),
    [15] = OLD(taskgroup_wait_begin, sync_region_wait), OLD(taskgroup_wait_end, sync_region_wait),
    OLD(lock_released, mutex_released), OLD(nest_released, mutex_released), OLD(critical_released, mutex_released),
    OLD(atomic_released, mutex_released), OLD(ordered_released, mutex_released),
    OLD(implicit_begin, implicit_task), OLD(implicit_end, implicit_task), OLD(initial_begin, implicit_task),
    OLD(initial_end, implicit_task), OLD(task_switch_to, task_schedule), OLD(loop_begin, work), OLD(loop_end, work),
    OLD(sections_begin, work), OLD(sections_end, work), OLD(single_begin, work), OLD(single_end, work),
    OLD(others_begin, work), OLD(others_end, work), OLD(workshare_begin, work), OLD(workshare_end, work),
    OLD(master_begin, masked), OLD(master_end, masked), OLD_OR(barrier_begin, sync_region, 11),
    OLD_OR(barrier_end, sync_region, 12), OLD_OR(taskwait_begin, sync_region, 13),
    OLD_OR(taskwait_end, sync_region, 14), OLD(taskgroup_begin, sync_region), OLD(taskgroup_end, sync_region),
    OLD(nest_less, nest_lock), OLD(lock_wait, mutex_acquire), OLD(nest_wait, mutex_acquire),
    OLD(critical_wait, mutex_acquire), OLD(atomic_wait, mutex_acquire), OLD(ordered_wait, mutex_acquire),
    OLD(lock_acquired, mutex_acquired), OLD(nest_acquired, mutex_acquired), OLD(nest_again, nest_lock),
    OLD(critical_acquired, mutex_acquired), OLD(atomic_acquired, mutex_acquired),
    OLD(ordered_acquired, mutex_acquired), OLD(lock_made, lock_init), OLD(nest_made, lock_init),
    OLD(lock_gone, lock_destroy), OLD(nest_gone, lock_destroy),
};

/* other reports whether the runtime is one of the report of June 2016: ids are words of the tool's there, by reference,
 * and no text that we know has the numbers of its events. */
static bool other(ompt_function_lookup_t lookup) {
    return lookup("ompt_get_thread_id") == NULL && lookup("ompt_get_thread_data") != NULL;
}

static void initialize(ompt_function_lookup_t lookup, const char *runtime, unsigned version) {
    old_set_t set = (old_set_t)lookup("ompt_set_callback");
    if (version != 2 || set == NULL || other(lookup)) {
        fprintf(stderr, "libompd-recorder: the runtime's version of OMPT is not known; nothing is recorded\n");
        return;
    }
    if (!recorder_start(RECORDER_SOURCE_OMPT, 0, runtime)) return;
    recorder_head->ids = RECORDER_IDS_RUNTIME;
    recorder_upper = 32;
    recorder_given = 1;
    old_register(set, events, sizeof events / sizeof events[0]);
}

/* ompt_tool is called by such a runtime, unless OMP_TOOL is disabled. */
__attribute__((visibility("default"))) void (*ompt_tool(void))(ompt_function_lookup_t, const char *, unsigned) {
    return initialize;
}
