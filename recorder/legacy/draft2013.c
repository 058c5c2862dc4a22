/* draft2013.c: runtimes with OMPT as in the draft of 2013 (version 1). They call ompt_initialize, export the functions
 * that a tool calls, and pass ids of regions by value. They report neither code addresses nor sizes of teams.
 */
#include <dlfcn.h>

#include "legacy.h"
#include "mutex.h"
#include "sync.h"

typedef uint64_t parallel_id;

static void thread_create(ompt_data_t *thread) { on_thread_begin(0, thread); }
static void thread_exit(ompt_data_t *thread) { on_thread_end(thread); }

static void parallel_create(ompt_data_t *task, ompt_frame_t *frame, parallel_id id) {
    struct slot s;
    (void)frame;
    if (!slot_open(&s, false, 2)) return;
    slot_first(&s, ompt_callback_parallel_begin, ompt_parallel_invoker_program, RECORDER_BEGIN, 0, 0, id);
    slot_more(&s, 1, 0, 0, id_of(task), 0);
    region_add(&s);
    slot_close(&s);
}

static void parallel_exit(ompt_data_t *task, ompt_frame_t *frame, parallel_id id) {
    (void)frame;
    ompt_data_t parallel = {.value = id};
    on_parallel_end(&parallel, task, ompt_parallel_invoker_program, NULL);
}

static void task_create(ompt_data_t *task, ompt_frame_t *frame, ompt_data_t *made) {
    on_task_create(task, frame, made, ompt_task_explicit, 0, NULL);
}

static void task_exit(ompt_data_t *task) { record_exit(task); }
static void task_resumes(ompt_data_t *from, ompt_data_t *to) { record_resume(from, to); }

static void implicit_create(ompt_data_t *task, parallel_id id) {
    ompt_data_t parallel = {.value = id};
    on_implicit_task(ompt_scope_begin, &parallel, task, 0, 0, ompt_task_implicit);
}

static void implicit_exit(ompt_data_t *task, parallel_id id) {
    ompt_data_t parallel = {.value = id};
    on_implicit_task(ompt_scope_end, &parallel, task, 0, 0, ompt_task_implicit);
}

/* SYNC defines the two callbacks of a synchronization region or of a wait in it, WORK those of a worksharing
 * construct. */
#define SYNC(name, event, kind)                                   \
    static void name##_begin(ompt_data_t *task, parallel_id id) { \
        ompt_data_t parallel = {.value = id};                     \
        event(kind, ompt_scope_begin, &parallel, task);           \
    }                                                             \
    static void name##_end(ompt_data_t *task, parallel_id id) {   \
        ompt_data_t parallel = {.value = id};                     \
        event(kind, ompt_scope_end, &parallel, task);             \
    }
#define WORK(name, kind)                                           \
    static void name##_begin(ompt_data_t *task, parallel_id id) {  \
        ompt_data_t parallel = {.value = id};                      \
        on_work(kind, ompt_scope_begin, &parallel, task, 0, NULL); \
    }                                                              \
    static void name##_end(ompt_data_t *task, parallel_id id) {    \
        ompt_data_t parallel = {.value = id};                      \
        on_work(kind, ompt_scope_end, &parallel, task, 0, NULL);   \
    }

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

static void master_begin(ompt_data_t *task, parallel_id id) {
    on_masked(ompt_scope_begin, &(ompt_data_t){.value = id}, task, NULL);
}
static void master_end(ompt_data_t *task, parallel_id id) {
    on_masked(ompt_scope_end, &(ompt_data_t){.value = id}, task, NULL);
}
static void flushed(ompt_data_t *thread) { on_flush(thread, NULL); }

static void idle_begin(ompt_data_t *thread) { record_idle(ompt_scope_begin, id_of(thread)); }
static void idle_end(ompt_data_t *thread) { record_idle(ompt_scope_end, id_of(thread)); }

/* The events by the draft's ompt_event_t (A.2). */
static const struct legacy_event events[] = {
    [1] = EVENT(parallel_create, parallel_begin), EVENT(parallel_exit, parallel_end), EVENT(task_create, task_create),
    EVENT(task_exit, task_schedule), EVENT(thread_create, thread_begin), EVENT(thread_exit, thread_end),
    EVENT(control, control_tool),
    [LEGACY_WAIT_BARRIER] = WAITING(wait_barrier_begin), WAITING(wait_barrier_end), WAITING(wait_taskwait_begin),
    WAITING(wait_taskwait_end), EVENT(wait_taskgroup_begin, sync_region_wait),
    EVENT(wait_taskgroup_end, sync_region_wait),
    EVENT(lock_released, mutex_released), EVENT(nest_released, mutex_released),
    EVENT(critical_released, mutex_released), EVENT(atomic_released, mutex_released),
    EVENT(ordered_released, mutex_released),
    EVENT(implicit_create, implicit_task), EVENT(implicit_exit, implicit_task), EVENT(task_resumes, task_schedule),
    EVENT(loop_begin, work), EVENT(loop_end, work), EVENT(sections_begin, work), EVENT(sections_end, work),
    EVENT(single_begin, work), EVENT(single_end, work), EVENT(others_begin, work), EVENT(others_end, work),
    EVENT(master_begin, masked), EVENT(master_end, masked), REGION(barrier_begin), REGION(barrier_end),
    REGION(taskwait_begin), REGION(taskwait_end), EVENT(taskgroup_begin, sync_region), EVENT(taskgroup_end, sync_region),
    EVENT(nest_less, nest_lock), EVENT(lock_wait, mutex_acquire), EVENT(nest_wait, mutex_acquire),
    EVENT(critical_wait, mutex_acquire), EVENT(atomic_wait, mutex_acquire), EVENT(ordered_wait, mutex_acquire),
    EVENT(lock_acquired, mutex_acquired), EVENT(nest_acquired, mutex_acquired), EVENT(nest_deeper, nest_lock),
    EVENT(critical_acquired, mutex_acquired), EVENT(atomic_acquired, mutex_acquired),
    EVENT(ordered_acquired, mutex_acquired), EVENT(lock_init, lock_init), EVENT(nest_init, lock_init),
    EVENT(lock_destroy, lock_destroy), EVENT(nest_destroy, lock_destroy), EVENT(flushed, flush),
};

/* ompt_initialize is called by such a runtime, without arguments; a tool returns 1. A current tool may have a function
 * of this name. If it was loaded after the recorder, a call of its function arrives here and is passed on. */
exported int ompt_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    legacy_set_t set;
    int (*version)(void);
    ompt_initialize_t next;
    *(void **)&set = dlsym(RTLD_DEFAULT, "ompt_set_callback");
    *(void **)&version = dlsym(RTLD_DEFAULT, "ompt_get_ompt_version");
    *(void **)&next = dlsym(RTLD_NEXT, "ompt_initialize");
    if (set == NULL || version == NULL || version() != 1) return next == NULL ? 0 : next(lookup, device, data);
    if (!recorder_start(RECORDER_SOURCE_OMPT, 0, "OMPT of 2013")) return 0;
    recorder_head->ids = RECORDER_IDS_REGIONS;
    recorder_upper = 32;
    register_all(set, events, sizeof events / sizeof events[0], (ompt_callback_t)idle_begin,
                 (ompt_callback_t)idle_end);
    return 1;
}
