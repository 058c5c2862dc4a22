/* old.c: runtimes that know OMPT as the draft of 2013 has it (version 1). They call ompt_initialize, export the
 * functions that a tool calls, and give ids of regions by value. They tell neither code addresses nor sizes of teams.
 */
#include <dlfcn.h>

#include "events.h"
#include "recorder.h"
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

/* WAIT has the two callbacks of a wait of a task, MUTEX those of one kind of mutual exclusion. */
#define WAIT(name, event, kind)                                           \
    static void name##_begin(ompt_data_t *task, parallel_id id) {         \
        ompt_data_t parallel = {.value = id};                             \
        event(kind, ompt_scope_begin, &parallel, task, NULL);             \
    }                                                                     \
    static void name##_end(ompt_data_t *task, parallel_id id) {           \
        ompt_data_t parallel = {.value = id};                             \
        event(kind, ompt_scope_end, &parallel, task, NULL);               \
    }
#define MUTEX(name, kind)                                                                        \
    static void name##_wait(ompt_wait_id_t id) { on_mutex_acquire(kind, 0, 0, id, NULL); }       \
    static void name##_acquired(ompt_wait_id_t id) { on_mutex_acquired(kind, id, NULL); }        \
    static void name##_released(ompt_wait_id_t id) { on_mutex_released(kind, id, NULL); }

WAIT(barrier, on_sync_region, ompt_sync_region_barrier)
WAIT(taskwait, on_sync_region, ompt_sync_region_taskwait)
WAIT(taskgroup, on_sync_region_wait, ompt_sync_region_taskgroup)
MUTEX(lock, ompt_mutex_lock)
MUTEX(nest, ompt_mutex_nest_lock)
MUTEX(critical, ompt_mutex_critical)
MUTEX(atomic, ompt_mutex_atomic)
MUTEX(ordered, ompt_mutex_ordered)

static void nest_again(ompt_wait_id_t id) { on_nest_lock(ompt_scope_begin, id, NULL); }
static void nest_less(ompt_wait_id_t id) { on_nest_lock(ompt_scope_end, id, NULL); }
static void lock_made(ompt_wait_id_t id) { on_lock_init(ompt_mutex_lock, 0, 0, id, NULL); }
static void lock_gone(ompt_wait_id_t id) { on_lock_destroy(ompt_mutex_lock, id, NULL); }
static void nest_made(ompt_wait_id_t id) { on_lock_init(ompt_mutex_nest_lock, 0, 0, id, NULL); }
static void nest_gone(ompt_wait_id_t id) { on_lock_destroy(ompt_mutex_nest_lock, id, NULL); }

#define F(name) (ompt_callback_t)name
/* By the numbers of the draft's ompt_event_t (A.2). */
static const ompt_callback_t events[58] = {
    [1] = F(parallel_create), F(parallel_exit), F(task_create), F(task_exit), F(thread_create), F(thread_exit),
    [11] = F(barrier_begin), F(barrier_end), F(taskwait_begin), F(taskwait_end),
    F(taskgroup_begin), F(taskgroup_end), F(lock_released), F(nest_released), F(critical_released), F(atomic_released), F(ordered_released),
    [22] = F(implicit_create), F(implicit_exit), F(task_resumes),
    [41] = F(nest_less), F(lock_wait), F(nest_wait), F(critical_wait), F(atomic_wait), F(ordered_wait),
    [47] = F(lock_acquired), F(nest_acquired), F(nest_again), F(critical_acquired), F(atomic_acquired),
    F(ordered_acquired), F(lock_made), F(nest_made), F(lock_gone), F(nest_gone),
};

/* ompt_initialize is called by such a runtime; a tool answers 1. */
__attribute__((visibility("default"))) int ompt_initialize(void) {
    int (*set)(int, ompt_callback_t), (*version)(void);
    *(void **)&set = dlsym(RTLD_DEFAULT, "ompt_set_callback");
    *(void **)&version = dlsym(RTLD_DEFAULT, "ompt_get_ompt_version");
    if (set == NULL || version == NULL || version() != 1) return 0;
    if (!recorder_start(RECORDER_SOURCE_OMPT, 0, "OMPT of 2013")) return 0;
    recorder_head->ids = RECORDER_IDS_REGIONS;
    for (int i = 0; i < 58; i++)
        if (events[i] != NULL) set(i, events[i]);
    return 1;
}
