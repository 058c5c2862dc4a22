//go:build ignore
/* ompt.c: the frequent events of host threads. rare.c has the other events, target.c those of devices. */
#include "events.h"
#include "recorder.h"
#include "tables.h"
#include "taskwords.h"

void on_thread_begin(int type, ompt_data_t *thread) {
    struct slot s;
    if (slot_open(&s, true, 1)) {
        s.ring->type = (uint32_t)type;
        s.ring->thread_id = task_new(&s, thread);
        slot_first(&s, ompt_callback_thread_begin, (uint32_t)type, 0, s.ring->tid, s.ring->pthread, s.ring->thread_id);
        slot_close(&s);
    }
    NEXT(thread_begin, type, thread);
}

void on_thread_end(ompt_data_t *thread) {
    struct slot s;
    if (slot_open(&s, true, 1)) {
        slot_first(&s, ompt_callback_thread_end, s.ring->type, 0, s.ring->tid, 0, id_of(thread));
        slot_close(&s);
    }
    NEXT(thread_end, thread);
}

/* parallel_kind packs the flags of a region: the invoker in bits 0 and 1, and the flag of a league in bit 2. */
inlined uint32_t parallel_kind(int flags) { return ((uint32_t)flags & 3) | ((flags & ompt_parallel_league) ? 4 : 0); }

void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned requested,
                              int flags, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 2)) {
        uint64_t id = region_new(&s, parallel);
        slot_first(&s, ompt_callback_parallel_begin, parallel_kind(flags), RECORDER_BEGIN, requested,
                   recorder_address(code), id);
        slot_more(&s, 1, 0, 0, id_of(task), 0);
        region_add(&s);
        slot_close(&s);
    }
    NEXT(parallel_begin, task, frame, parallel, requested, flags, code);
}

inlined void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code, bool at_once) {
    struct slot s;
    if (slot_begin(&s, false, 2, at_once)) {
        slot_first(&s, ompt_callback_parallel_end, parallel_kind(flags), RECORDER_END, 0, recorder_address(code),
                   id_of(parallel));
        slot_more(&s, 1, 0, 0, id_of(task), 0);
        region_remove(&s, id_of(parallel));
        slot_close(&s);
    }
    NEXT(parallel_end, parallel, task, flags, code);
}

void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code) {
    parallel_end(parallel, task, flags, code, false);
}

void on_parallel_end_at_once(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code) {
    parallel_end(parallel, task, flags, code, true);
}

inlined void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned actual,
                           unsigned index, int flags, bool at_once) {
    struct slot s;
    if (slot_begin(&s, false, 2, at_once)) {
        bool begins = endpoint == ompt_scope_begin;
        uint64_t region = id_of(parallel), id = begins ? task_new(&s, task) : word_current(s.ring, task);
        if (begins && parallel != NULL && region == 0) region = region_new(&s, parallel); /* the initial region */
        if (rarely(recorder_chained) && begins && index == 0 && parallel != NULL) region_begins(&s, region);
        slot_first(&s, ompt_callback_implicit_task, (uint32_t)flags, endpoint, actual, region, id);
        slot_more(&s, 1, index, 0, 0, 0);
        if (begins)
            task_enter(&s, id, region,
                       flags & ompt_task_initial ? ompt_state_work_serial : ompt_state_work_parallel);
        else
            task_leave(&s, id);
        slot_close(&s);
    }
    NEXT(implicit_task, endpoint, parallel, task, actual, index, flags);
}

void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned actual,
                      unsigned index, int flags) {
    implicit_task(endpoint, parallel, task, actual, index, flags, false);
}

void on_implicit_task_at_once(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                              unsigned actual, unsigned index, int flags) {
    implicit_task(endpoint, parallel, task, actual, index, flags, true);
}

/* is_current_task reports whether the table of the thread has this task as the current one. */
inlined bool is_current_task(const ompt_data_t *task) {
    struct recorder_ring *ring = recorder_mine;
    struct recorder_task *t = ring == NULL ? NULL : task_current(ring);
    return t != NULL && t->task == id_of(task);
}

/* wait_new assigns an id to a taskwait with dependences of the current task. */
inlined uint64_t wait_new(struct slot *s, const ompt_data_t *wait) {
    if (rarely(recorder_chained | recorder_given)) return id_of(wait);
    uint64_t id = recorder_id(s->ring, ++s->ring->tasks_made), *word = word_slot(s->ring);
    if (word != NULL) *word = id;
    return id;
}

/* on_task_create omits the creating task if that is the thread's current task. This halves the size of the event. */
void on_task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags, int dependences,
                           const void *code) {
    struct slot s;
    if (slot_open(&s, false, is_current_task(task) ? 1 : 2)) {
        uint64_t id = flags & ompt_task_taskwait ? wait_new(&s, made) : task_new(&s, made);
        slot_first(&s, ompt_callback_task_create, dependences != 0, s.count == 1 ? RECORDER_FOLDED : 0,
                   (uint32_t)flags, recorder_address(code), id);
        if (s.count > 1) slot_more(&s, 1, 0, 0, id_of(task), 0);
        slot_close(&s);
    }
    NEXT(task_create, task, frame, made, flags, dependences, code);
}

void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next) {
    struct slot s;
    word_fill(prior);
    if (slot_open(&s, false, 1)) {
        bool waited = status == ompt_taskwait_complete;
        uint64_t from = waited ? word_wait(s.ring, prior) : id_of(prior);
        slot_first(&s, ompt_callback_task_schedule, status, 0, 0, from, id_of(next));
        if (next != NULL) task_switch(&s, from, status, id_of(next));
        slot_close(&s);
    }
    NEXT(task_schedule, prior, status, next);
}

/* folds reports whether a wait begins and ends with its region. That of a taskgroup is at its end only. */
inlined bool folds(ompt_sync_region_t kind) { return kind != ompt_sync_region_taskgroup; }

void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                           ompt_data_t *task, const void *code) {
    struct slot s;
    if (endpoint == ompt_scope_end) word_fill(task);
    if (slot_open(&s, false, 1)) {
        uint64_t id = word_current(s.ring, task);
        slot_region(&s, ompt_callback_sync_region, kind, endpoint | (folds(kind) ? RECORDER_FOLDED : 0), parallel, id,
                    code);
        if (!recorder_given) task_unwind(&s, id);
        if (folds(kind)) state_set(&s, endpoint == ompt_scope_begin ? state_sync(kind) : state_work(s.ring));
        slot_close(&s);
    }
    NEXT(sync_region, kind, endpoint, parallel, task, code);
    if (endpoint == ompt_scope_begin && word_copied(kind)) word_empty(task);
}

void on_sync_region_unrecorded(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                               ompt_data_t *task, const void *code) {
    (void)parallel, (void)code;
    if (endpoint == ompt_scope_end) word_fill(task);
    if (endpoint == ompt_scope_begin && word_copied(kind)) word_empty(task);
}

void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                                ompt_data_t *task, const void *code) {
    struct slot s;
    if (!folds(kind) && slot_open(&s, false, 1)) {
        slot_region(&s, ompt_callback_sync_region_wait, kind, endpoint, parallel, id_of(task), code);
        state_set(&s, endpoint == ompt_scope_begin ? state_sync(kind) : state_work(s.ring));
        slot_close(&s);
    }
    NEXT(sync_region_wait, kind, endpoint, parallel, task, code);
}

/* reduction_state returns the state in a reduction, or after it. A reduction within a barrier is part of that wait,
 * which continues when the reduction is over. */
inlined uint32_t reduction_state(struct recorder_ring *ring, ompt_scope_endpoint_t endpoint) {
    uint32_t state = ring->state & ((1u << RECORDER_STATE_BITS) - 1);
    if (state >= ompt_state_wait_barrier && state <= ompt_state_wait_barrier_teams) return state;
    return endpoint == ompt_scope_begin ? ompt_state_work_reduction : state_work(ring);
}

static void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                         ompt_data_t *task, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_region(&s, ompt_callback_reduction, kind, endpoint, parallel, id_of(task), code);
        state_set(&s, reduction_state(s.ring, endpoint));
        slot_close(&s);
    }
    NEXT(reduction, kind, endpoint, parallel, task, code);
}

void on_work(int kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, uint64_t count,
                    const void *code) {
    struct slot s;
    if (slot_open(&s, false, 2)) {
        slot_region(&s, ompt_callback_work, (uint32_t)kind, endpoint, parallel, id_of(task), code);
        slot_more(&s, 1, 0, 0, count, 0);
        slot_close(&s);
    }
    NEXT(work, kind, endpoint, parallel, task, count, code);
}

/* on_dispatch records the meaning of instance: an iteration's number, the address of a section's code, or a chunk of
 * iterations, whose start and length are in the runtime's memory. */
static void on_dispatch(ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance) {
    struct slot s;
    if (slot_open(&s, false, 2)) {
        uint64_t a = instance.value, b = 0;
        if (kind >= ompt_dispatch_ws_loop_chunk && kind <= ompt_dispatch_distribute_chunk && instance.ptr != NULL) {
            const ompt_dispatch_chunk_t *chunk = instance.ptr;
            a = chunk->start;
            b = chunk->iterations;
        }
        slot_region(&s, ompt_callback_dispatch, kind, 0, parallel, id_of(task), NULL);
        slot_more(&s, 1, 0, 0, a, b);
        slot_close(&s);
    }
    NEXT(dispatch, parallel, task, kind, instance);
}

void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_region(&s, ompt_callback_masked, 0, endpoint, parallel, id_of(task), code);
        slot_close(&s);
    }
    NEXT(masked, endpoint, parallel, task, code);
}

void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait_id,
                             const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_first(&s, ompt_callback_mutex_acquire, kind, 0, (hint & 0xffffff) | impl << 24, recorder_address(code),
                   wait_id);
        if (kind != ompt_mutex_test_lock && kind != ompt_mutex_test_nest_lock) state_set(&s, state_mutex(kind));
        slot_close(&s);
    }
    NEXT(mutex_acquire, kind, hint, impl, wait_id, code);
}

void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_first(&s, ompt_callback_mutex_acquired, kind, 0, 0, recorder_address(code), wait_id);
        held_add(&s);
        state_set(&s, state_work(s.ring));
        slot_close(&s);
    }
    NEXT(mutex_acquired, kind, wait_id, code);
}

void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_first(&s, ompt_callback_mutex_released, kind, 0, 0, recorder_address(code), wait_id);
        held_remove(&s, wait_id);
        slot_close(&s);
    }
    NEXT(mutex_released, kind, wait_id, code);
}

void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t wait_id, const void *code) {
    struct slot s;
    if (slot_open(&s, false, 1)) {
        slot_first(&s, ompt_callback_nest_lock, 0, endpoint, 0, recorder_address(code), wait_id);
        if (endpoint == ompt_scope_begin) state_set(&s, state_work(s.ring)); /* it did not wait */
        slot_close(&s);
    }
    NEXT(nest_lock, endpoint, wait_id, code);
}

void on_flush(ompt_data_t *thread, const void *code) {
    record_one(ompt_callback_flush, 0, 0, 0, recorder_address(code), id_of(thread));
    NEXT(flush, thread, code);
}

const ompt_callback_t recorder_host[64] = {
    CALLBACK(thread_begin),   CALLBACK(thread_end),       CALLBACK(parallel_begin), CALLBACK(parallel_end),
    CALLBACK(implicit_task),  CALLBACK(task_create),      CALLBACK(task_schedule),  CALLBACK(sync_region),
    CALLBACK(work),           CALLBACK(sync_region_wait), CALLBACK(reduction),      CALLBACK(dispatch),
    CALLBACK(masked),         CALLBACK(mutex_acquire),    CALLBACK(mutex_acquired), CALLBACK(mutex_released),
    CALLBACK(nest_lock),      CALLBACK(flush),
};
