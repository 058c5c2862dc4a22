/* sync.h: barriers, taskwaits, idling and shutdown, whose events OMPT's drafts have in common (draft2013.c, version2.c).
 * There, the wait in a region has events of its own: several in one region, and one without a region at the end of a
 * parallel region.
 */
#ifndef OMPD_RECORDER_LEGACY_SYNC_H
#define OMPD_RECORDER_LEGACY_SYNC_H

#include "../tables.h"
#include "legacy.h"

/* separate is the mask of the kinds of regions (ompt_sync_region_t) whose waits the runtime reports. */
static uint32_t separate;

inlined void record_sync(uint32_t code, ompt_sync_region_t kind, uint32_t flags, const ompt_data_t *parallel,
                         const ompt_data_t *task) {
    struct slot s;
    if (!slot_open(&s, false, 1)) return;
    slot_region(&s, code, kind, flags, parallel, id_of(task), NULL);
    state_set(&s, flags & RECORDER_BEGIN ? state_sync(kind) : state_work(s.ring));
    slot_close(&s);
}

/* record_region records a region, which includes its wait if the runtime does not report that. */
inlined void record_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, const ompt_data_t *parallel,
                           const ompt_data_t *task) {
    uint32_t folded = separate >> kind & 1 ? 0 : RECORDER_FOLDED;
    record_sync(ompt_callback_sync_region, kind, endpoint | folded, parallel, task);
}

/* record_taskgroup records a taskgroup, which waits at its end. */
inlined void record_taskgroup(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, const ompt_data_t *parallel,
                              const ompt_data_t *task) {
    struct slot s;
    if (!slot_open(&s, false, 1)) return;
    slot_region(&s, ompt_callback_sync_region, kind, endpoint, parallel, id_of(task), NULL);
    slot_close(&s);
}

inlined void record_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, const ompt_data_t *parallel,
                         const ompt_data_t *task) {
    record_sync(ompt_callback_sync_region_wait, kind, endpoint, parallel, task);
}

/* record_idle records that a thread starts or stops idling. Then it forms a team, until its task begins. */
inlined void record_idle(ompt_scope_endpoint_t endpoint, uint64_t thread) {
    struct slot s;
    if (!slot_open(&s, false, 1)) return;
    slot_first(&s, RECORDER_IDLE, 0, endpoint, 0, 0, thread);
    state_set(&s, endpoint == ompt_scope_begin ? ompt_state_idle : ompt_state_overhead);
    slot_close(&s);
}

static void runtime_shutdown(void) { record_rare(RECORDER_SHUTDOWN, 0, 0, 0, 0, 0); }

/* exited is the id of the task whose exit the thread has reported last, until its next switch. */
static __thread uint64_t exited __attribute__((tls_model("initial-exec")));

inlined void record_exit(ompt_data_t *task) {
    exited = id_of(task);
    on_task_schedule(task, ompt_task_complete, NULL);
}

/* record_resume omits the suspended task if that has completed: from is NULL if the runtime has freed its data. */
inlined void record_resume(ompt_data_t *from, ompt_data_t *to) {
    uint64_t completed = exited;
    exited = 0;
    if (from != NULL && (completed == 0 || id_of(from) != completed)) {
        on_task_schedule(from, ompt_task_switch, to);
        return;
    }
    struct slot s;
    if (!slot_open(&s, false, 1)) return;
    slot_first(&s, ompt_callback_task_schedule, ompt_task_switch, 0, 0, 0, id_of(to));
    if (to != NULL) task_switch(&s, completed, ompt_task_complete, id_of(to));
    slot_close(&s);
}

/* register_all sets all callbacks. Those of idling and shutdown have no code of OMPT's by which they are selected. */
inlined void register_all(legacy_set_t set, const struct legacy_event *events, int n, ompt_callback_t idle_begin,
                          ompt_callback_t idle_end) {
    uint64_t called = legacy_register(set, events, n);
    separate = (called & CODE(LEGACY_WAIT_BARRIER) ? 1u << ompt_sync_region_barrier : 0) |
               (called & CODE(LEGACY_WAIT_TASKWAIT) ? 1u << ompt_sync_region_taskwait : 0);
    set(LEGACY_SHUTDOWN, (ompt_callback_t)runtime_shutdown);
    if ((recorder_head->events & CODE(ompt_callback_sync_region)) == 0) return;
    set(LEGACY_IDLE_BEGIN, idle_begin);
    set(LEGACY_IDLE_END, idle_end);
}

#endif
