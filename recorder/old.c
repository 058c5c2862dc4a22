//go:build ignore
/* old.c: runtimes that know OMPT as the draft of 2013 has it (version 1). They call ompt_initialize, export the
 * functions that a tool calls, and give ids of regions by value. They tell neither code addresses nor sizes of teams.
 */
#include <dlfcn.h>

#include "old.h"
#include "old_locks.h"
#include "state.h"

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

static void parallel_exit(ompt_data_t *task, parallel_id id) {
    ompt_data_t parallel = {.value = id};
    on_parallel_end(&parallel, task, ompt_parallel_invoker_program, NULL);
}

static void task_create(ompt_data_t *task, ompt_frame_t *frame, ompt_data_t *made) {
    on_task_create(task, frame, made, 4 /* explicit */, 0, NULL);
}

static void task_exit(ompt_data_t *task) { on_task_schedule(task, ompt_task_complete, NULL); }
static void task_resumes(ompt_data_t *from, ompt_data_t *to) { on_task_schedule(from, ompt_task_switch, to); }

static void implicit_create(ompt_data_t *task, parallel_id id) {
    ompt_data_t parallel = {.value = id};
    on_implicit_task(ompt_scope_begin, &parallel, task, 0, 0, ompt_task_implicit);
}

static void implicit_exit(ompt_data_t *task, parallel_id id) {
    ompt_data_t parallel = {.value = id};
    on_implicit_task(ompt_scope_end, &parallel, task, 0, 0, ompt_task_implicit);
}

/* WAIT has the two callbacks of a wait of a task, WORK those of a worksharing construct. */
#define WAIT(name, event, kind)                                           \
    static void name##_begin(ompt_data_t *task, parallel_id id) {         \
        ompt_data_t parallel = {.value = id};                             \
        event(kind, ompt_scope_begin, &parallel, task, NULL);             \
    }                                                                     \
    static void name##_end(ompt_data_t *task, parallel_id id) {           \
        ompt_data_t parallel = {.value = id};                             \
        event(kind, ompt_scope_end, &parallel, task, NULL);               \
    }
#define WORK(name, kind)                                                  \
    static void name##_begin(ompt_data_t *task, parallel_id id) {         \
        ompt_data_t parallel = {.value = id};                             \
        on_work(kind, ompt_scope_begin, &parallel, task, 0, NULL);        \
    }                                                                     \
    static void name##_end(ompt_data_t *task, parallel_id id) {           \
        ompt_data_t parallel = {.value = id};                             \
        on_work(kind, ompt_scope_end, &parallel, task, 0, NULL);          \
    }

WAIT(barrier, on_sync_region, ompt_sync_region_barrier)
WAIT(taskwait, on_sync_region, ompt_sync_region_taskwait)
WAIT(taskgroup, on_sync_region, ompt_sync_region_taskgroup)
WAIT(taskgroup_wait, on_sync_region_wait, ompt_sync_region_taskgroup)
WORK(loop, 1)
WORK(sections, 2)
WORK(single, 3)
WORK(others, 4)

static void master_begin(ompt_data_t *task, parallel_id id) {
    on_masked(ompt_scope_begin, &(ompt_data_t){.value = id}, task, NULL);
}
static void master_end(ompt_data_t *task, parallel_id id) {
    on_masked(ompt_scope_end, &(ompt_data_t){.value = id}, task, NULL);
}
static void flushed(ompt_data_t *thread) { on_flush(thread, NULL); }

/* By the numbers of the draft's ompt_event_t (A.2). Barriers and taskwaits are told by the waits, which those at the
 * ends of regions have, too, or by the constructs where a runtime does not tell waits. */
static const struct old_event events[] = {
    [1] = OLD(parallel_create, parallel_begin), OLD(parallel_exit, parallel_end), OLD(task_create, task_create),
    OLD(task_exit, task_schedule), OLD(thread_create, thread_begin), OLD(thread_exit, thread_end),
    OLD(control, control_tool),
    [11] = OLD_OR(barrier_begin, sync_region, 35), OLD_OR(barrier_end, sync_region, 36),
    OLD_OR(taskwait_begin, sync_region, 37), OLD_OR(taskwait_end, sync_region, 38),
    OLD(taskgroup_wait_begin, sync_region_wait), OLD(taskgroup_wait_end, sync_region_wait),
    OLD(lock_released, mutex_released), OLD(nest_released, mutex_released), OLD(critical_released, mutex_released),
    OLD(atomic_released, mutex_released), OLD(ordered_released, mutex_released),
    OLD(implicit_create, implicit_task), OLD(implicit_exit, implicit_task), OLD(task_resumes, task_schedule),
    OLD(loop_begin, work), OLD(loop_end, work), OLD(sections_begin, work), OLD(sections_end, work),
    OLD(single_begin, work), OLD(single_end, work), OLD(others_begin, work), OLD(others_end, work),
    OLD(master_begin, masked), OLD(master_end, masked),
    [39] = OLD(taskgroup_begin, sync_region), OLD(taskgroup_end, sync_region),
    OLD(nest_less, nest_lock), OLD(lock_wait, mutex_acquire), OLD(nest_wait, mutex_acquire),
    OLD(critical_wait, mutex_acquire), OLD(atomic_wait, mutex_acquire), OLD(ordered_wait, mutex_acquire),
    OLD(lock_acquired, mutex_acquired), OLD(nest_acquired, mutex_acquired), OLD(nest_again, nest_lock),
    OLD(critical_acquired, mutex_acquired), OLD(atomic_acquired, mutex_acquired),
    OLD(ordered_acquired, mutex_acquired), OLD(lock_made, lock_init), OLD(nest_made, lock_init),
    OLD(lock_gone, lock_destroy), OLD(nest_gone, lock_destroy), OLD(flushed, flush),
};

/* told reports whether a runtime calls back, by what it answers: 3 when that is convenient, 4 always. */
static bool told(int answer) { return answer > 2; }

void old_register(old_set_t set, const struct old_event *events, int n) {
    uint64_t asked = 0, known = 0;
    for (int i = 0; i < n; i++) {
        const struct old_event *e = &events[i];
        if (e->callback == NULL || (recorder_head->events & CODE(e->code)) == 0) continue;
        int answer = set(i, e->callback);
        if (!told(answer) && e->instead != 0) answer = set(e->instead, e->callback);
        int8_t result = told(answer) ? answer == 3 ? 3 : 5 : 1; /* ompt_set_sometimes, always, never */
        if (result > recorder_head->registered[e->code]) recorder_head->registered[e->code] = result;
        asked |= CODE(e->code);
        known |= told(answer) ? CODE(e->code) : 0;
    }
    recorder_head->events &= ~asked | known;
}

/* ompt_initialize is called by such a runtime, without arguments; a tool answers 1. A tool of today that has a function of
 * this name, and was loaded behind the recorder, is called by this one: it is passed on. */
__attribute__((visibility("default"))) int ompt_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    old_set_t set;
    int (*version)(void);
    ompt_initialize_t next;
    *(void **)&set = dlsym(RTLD_DEFAULT, "ompt_set_callback");
    *(void **)&version = dlsym(RTLD_DEFAULT, "ompt_get_ompt_version");
    *(void **)&next = dlsym(RTLD_NEXT, "ompt_initialize");
    if (set == NULL || version == NULL || version() != 1) return next == NULL ? 0 : next(lookup, device, data);
    if (!recorder_start(RECORDER_SOURCE_OMPT, 0, "OMPT of 2013")) return 0;
    recorder_head->ids = RECORDER_IDS_REGIONS;
    recorder_upper = 32;
    old_register(set, events, sizeof events / sizeof events[0]);
    return 1;
}
