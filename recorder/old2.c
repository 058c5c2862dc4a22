/* old2.c: runtimes that know OMPT as it was between the draft of 2013 and OpenMP 5.0 (version 2). They call ompt_tool,
 * and the function that it returns with a lookup; events have the runtime's ids of threads, regions and tasks, by value.
 * The numbers of events and their arguments are those of an ompt.h of an LLVM runtime of that time.
 */
#include "events.h"
#include "recorder.h"
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
/* A mutex has three callbacks. */
#define MUTEX(name, kind)                                                                         \
    static void name##_wait(ompt_wait_id_t w) { on_mutex_acquire(kind, 0, 0, w, NULL); }          \
    static void name##_acquired(ompt_wait_id_t w) { on_mutex_acquired(kind, w, NULL); }           \
    static void name##_released(ompt_wait_id_t w) { on_mutex_released(kind, w, NULL); }

SYNC(barrier, on_sync_region, ompt_sync_region_barrier)
SYNC(taskwait, on_sync_region, ompt_sync_region_taskwait)
SYNC(taskgroup, on_sync_region, ompt_sync_region_taskgroup)
SYNC(taskgroup_wait, on_sync_region_wait, ompt_sync_region_taskgroup)
WORK(loop, 1)
WORK(sections, 2)
WORK(single, 3)
WORK(others, 4)
WORK(workshare, 5)
MUTEX(lock, ompt_mutex_lock)
MUTEX(nest, ompt_mutex_nest_lock)
MUTEX(critical, ompt_mutex_critical)
MUTEX(atomic, ompt_mutex_atomic)
MUTEX(ordered, ompt_mutex_ordered)

static void nest_again(ompt_wait_id_t w) { on_nest_lock(ompt_scope_begin, w, NULL); }
static void nest_less(ompt_wait_id_t w) { on_nest_lock(ompt_scope_end, w, NULL); }
static void lock_made(ompt_wait_id_t w) { on_lock_init(ompt_mutex_lock, 0, 0, w, NULL); }
static void lock_gone(ompt_wait_id_t w) { on_lock_destroy(ompt_mutex_lock, w, NULL); }
static void nest_made(ompt_wait_id_t w) { on_lock_init(ompt_mutex_nest_lock, 0, 0, w, NULL); }
static void nest_gone(ompt_wait_id_t w) { on_lock_destroy(ompt_mutex_nest_lock, w, NULL); }

#define F(name) (ompt_callback_t)name
/* By the numbers of ompt_event_t. The waits of barriers and taskwaits begin and end with their regions (SYNC). */
static const ompt_callback_t events[61] = {
    [1] = F(parallel_begin), F(parallel_end), F(task_begin), F(task_end), F(thread_begin), F(thread_end),
    [15] = F(taskgroup_wait_begin), F(taskgroup_wait_end),
    [17] = F(lock_released), F(nest_released), F(critical_released), F(atomic_released), F(ordered_released),
    [22] = F(implicit_begin), F(implicit_end), F(initial_begin), F(initial_end), F(task_switch_to),
    [27] = F(loop_begin), F(loop_end), F(sections_begin), F(sections_end), F(single_begin), F(single_end),
    [33] = F(others_begin), F(others_end), F(workshare_begin), F(workshare_end),
    [39] = F(barrier_begin), F(barrier_end), F(taskwait_begin), F(taskwait_end), F(taskgroup_begin), F(taskgroup_end),
    [45] = F(nest_less), F(lock_wait), F(nest_wait), F(critical_wait), F(atomic_wait), F(ordered_wait),
    [51] = F(lock_acquired), F(nest_acquired), F(nest_again), F(critical_acquired), F(atomic_acquired),
    F(ordered_acquired), F(lock_made), F(nest_made), F(lock_gone), F(nest_gone),
};

static void initialize(ompt_function_lookup_t lookup, const char *runtime, unsigned version) {
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    if (version != 2 || set == NULL || !recorder_start(RECORDER_SOURCE_OMPT, 0, runtime)) return;
    recorder_head->ids = RECORDER_IDS_RUNTIME;
    recorder_given = 1;
    for (int i = 0; i < 61; i++)
        if (events[i] != NULL) set((ompt_callbacks_t)i, events[i]);
}

/* ompt_tool is called by such a runtime, unless OMP_TOOL is disabled. */
__attribute__((visibility("default"))) void (*ompt_tool(void))(ompt_function_lookup_t, const char *, unsigned) {
    return initialize;
}
