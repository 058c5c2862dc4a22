/* tables.h: the state of a thread, the regions that it has forked and the locks that it holds. They are tables in its
 * ring's header, which stay right when records are overwritten. They change only between slot_open and slot_close: a
 * reader that finds begun and head equal before and after reading has tables that match that number of records.
 */
#ifndef OMPD_RECORDER_TABLES_H
#define OMPD_RECORDER_TABLES_H

#include "ring.h"

inlined void state_set(struct slot *s, uint32_t state) {
    uint64_t word = state | s->at << RECORDER_STATE_BITS;
    uint32_t n = s->ring->tasks;
    s->ring->state = word;
    if (n - 1 < RECORDER_TASKS_MAX) s->ring->task_table[n - 1].state = word; /* also false for n = 0 */
}

/* task_current returns the current task of the thread, or NULL: without a task, or past the table's end. */
inlined struct recorder_task *task_current(struct recorder_ring *ring) {
    uint32_t n = ring->tasks;
    return n - 1 < RECORDER_TASKS_MAX ? &ring->task_table[n - 1] : NULL;
}

/* task_bit returns the bit of a task in recorder_task.among. Ids are consecutive numbers, and addresses are multiples
 * of 16. */
inlined uint64_t task_bit(uint64_t task) { return UINT64_C(1) << ((task ^ task >> 6) & 63); }

/* task_enter pushes a task on the thread's stack of tasks. If parallel is 0, the region is that of the task around
 * it. */
inlined void task_enter(struct slot *s, uint64_t task, uint64_t parallel, uint32_t state) {
    struct recorder_ring *ring = s->ring;
    struct recorder_task *outer = task_current(ring);
    uint32_t n = ring->tasks;
    if (n < RECORDER_TASKS_MAX) {
        struct recorder_task *t = &ring->task_table[n];
        t->task = task;
        t->parallel = parallel != 0 || outer == NULL ? parallel : outer->parallel;
        t->among = task_bit(task) | (outer == NULL ? 0 : outer->among);
        ring->words[n] = 0;
    }
    ring->tasks = n + 1;
    state_set(s, state);
}

/* task_find returns the height of the stack with a task on top, 0 if the task is not on it. */
inlined uint32_t task_find(struct recorder_ring *ring, uint64_t task) {
    uint32_t n = ring->tasks < RECORDER_TASKS_MAX ? ring->tasks : RECORDER_TASKS_MAX;
    if (n > 0 && (ring->task_table[n - 1].among & task_bit(task)) == 0) return 0; /* the usual case of a task that
                                                                                     begins */
    while (n > 0 && ring->task_table[n - 1].task != task) n--;
    return n;
}

/* task_return makes the n-th task of the stack the current one again, in its last state. With n = 0 the thread is
 * idle. */
inlined void task_return(struct slot *s, uint32_t n) {
    s->ring->tasks = n;
    if (n > 0)
        s->ring->state = s->ring->task_table[n - 1].state;
    else
        s->ring->state = ompt_state_idle | s->at << RECORDER_STATE_BITS;
}

/* task_leave pops a task and those inside it. It ignores a task with an unrecorded beginning. */
inlined void task_leave(struct slot *s, uint64_t task) {
    uint32_t n = task_find(s->ring, task);
    if (n > 0) task_return(s, n - 1);
}

/* task_unwind pops the tasks above the current task: untied tasks, whose last part has no end event in LLVM's runtime
 * while another thread is still leaving the part before. */
inlined void task_unwind(struct slot *s, uint64_t task) {
    struct recorder_task *current = task_current(s->ring);
    if (__builtin_expect(current == NULL || current->task == task || task == 0, 1)) return;
    uint32_t n = task_find(s->ring, task);
    if (n > 0) task_return(s, n);
}

/* task_switch resumes next, or enters it. The stack contains the interrupted tasks of this thread. */
inlined void task_switch(struct slot *s, uint64_t prior, uint32_t status, uint64_t next) {
    task_unwind(s, prior);
    uint32_t n = task_find(s->ring, next);
    if (n > 0) {
        task_return(s, n);
        return;
    }
    if (status == ompt_task_complete || status == ompt_task_cancel || status == ompt_task_detach) {
        n = task_find(s->ring, prior);
        if (n > 0) s->ring->tasks = n - 1;
    }
    task_enter(s, next, 0, ompt_state_work_parallel);
}

/* state_work returns the state of a thread in a task that does not wait. A worker has no initial task. */
inlined uint32_t state_work(struct recorder_ring *ring) {
    bool worker = ring->type == ompt_thread_worker;
    return ring->tasks > 1 || worker ? ompt_state_work_parallel : ompt_state_work_serial;
}

/* state_sync returns the state of a thread in a synchronization region. */
inlined uint32_t state_sync(ompt_sync_region_t kind) {
    static const uint16_t states[] = {
        [0] = ompt_state_wait_barrier,
        [ompt_sync_region_barrier] = ompt_state_wait_barrier,
        [ompt_sync_region_barrier_implicit] = ompt_state_wait_barrier_implicit,
        [ompt_sync_region_barrier_explicit] = ompt_state_wait_barrier_explicit,
        [ompt_sync_region_barrier_implementation] = ompt_state_wait_barrier_implementation,
        [ompt_sync_region_taskwait] = ompt_state_wait_taskwait,
        [ompt_sync_region_taskgroup] = ompt_state_wait_taskgroup,
        [ompt_sync_region_reduction] = ompt_state_work_reduction,
        [ompt_sync_region_barrier_implicit_workshare] = ompt_state_wait_barrier_implicit_workshare,
        [ompt_sync_region_barrier_implicit_parallel] = ompt_state_wait_barrier_implicit_parallel,
        [ompt_sync_region_barrier_teams] = ompt_state_wait_barrier_teams,
    };
    return (uint32_t)kind < sizeof states / sizeof states[0] ? states[kind] : (uint16_t)ompt_state_wait_barrier;
}

/* state_mutex returns the state of a thread that waits for a mutex. */
inlined uint32_t state_mutex(ompt_mutex_t kind) {
    switch (kind) {
    case ompt_mutex_critical: return ompt_state_wait_critical;
    case ompt_mutex_atomic: return ompt_state_wait_atomic;
    case ompt_mutex_ordered: return ompt_state_wait_ordered;
    default: return ompt_state_wait_lock;
    }
}

/* held_add copies the current record to the table of locks that the thread holds. */
inlined void held_add(struct slot *s) {
    uint32_t n = s->ring->held;
    if (n < RECORDER_HELD_MAX) slot_copy(s, &s->ring->held_table[n]);
    s->ring->held = n + 1;
}

/* held_remove removes a lock from the table. A lock that is missing there is past its end, or was acquired by another
 * thread or before recording started. */
inlined void held_remove(struct slot *s, uint64_t wait_id) {
    struct recorder_ring *ring = s->ring;
    uint32_t n = ring->held < RECORDER_HELD_MAX ? ring->held : RECORDER_HELD_MAX, i = n;
    while (i > 0 && ring->held_table[i - 1].b != wait_id) i--;
    if (i == 0 && ring->held <= RECORDER_HELD_MAX) {
        ring->foreign++;
        return;
    }
    for (; i > 0 && i < n; i++) ring->held_table[i - 1] = ring->held_table[i];
    ring->held--;
}

/* region_add copies the current record to the table of regions that the thread has forked. */
inlined void region_add(struct slot *s) {
    uint32_t n = s->ring->regions;
    if (n < RECORDER_REGIONS_MAX) slot_copy(s, &s->ring->region_table[n]);
    s->ring->regions = n + 1;
}

/* region_begins corrects the id of the innermost region that the thread has forked to the id of its first implicit
 * task. LLVM's runtime passes a word to the fork's callback that it copies afterwards: where ids are addresses of
 * words, they differ. */
inlined void region_begins(struct slot *s, uint64_t region) {
    uint32_t n = s->ring->regions;
    if (n == 0 || n > RECORDER_REGIONS_MAX || s->ring->region_table[n - 1].b == region) return;
    struct recorder_record *fork = &s->ring->region_table[n - 1];
    for (uint64_t back = 1; back <= 8 && back <= s->at; back++) {
        struct recorder_record *r = &s->records[(s->at - back) & ((UINT64_C(1) << s->shift) - 1)];
        if (r->time != fork->time || r->code != ompt_callback_parallel_begin) continue;
        __atomic_store_n(&r->b, region, __ATOMIC_RELAXED);
        fork->b = region;
        return;
    }
}

/* region_remove removes a region and those inside it from the table. */
inlined void region_remove(struct slot *s, uint64_t parallel) {
    struct recorder_ring *ring = s->ring;
    uint32_t n = ring->regions < RECORDER_REGIONS_MAX ? ring->regions : RECORDER_REGIONS_MAX;
    while (n > 0 && ring->region_table[n - 1].b != parallel) n--;
    if (n > 0)
        ring->regions = n - 1;
    else if (ring->regions > RECORDER_REGIONS_MAX)
        ring->regions--;
}

#endif
