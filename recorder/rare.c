//go:build ignore
/* rare.c: the events of host threads that go into the ring of rare events, and omp_control_tool. */
#include "events.h"
#include "recorder.h"
#include "tables.h"
#include "taskwords.h"

void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait_id, const void *code) {
    record_rare(ompt_callback_lock_init, kind, 0, (hint & 0xffffff) | impl << 24, recorder_address(code), wait_id);
    NEXT(lock_init, kind, hint, impl, wait_id, code);
}

void on_lock_destroy(ompt_mutex_t kind, ompt_wait_id_t wait_id, const void *code) {
    record_rare(ompt_callback_lock_destroy, kind, 0, 0, recorder_address(code), wait_id);
    NEXT(lock_destroy, kind, wait_id, code);
}

/* iterates reports whether dependences are those of a loop's iterations: source or sink. They are frequent, and would
 * overwrite the rare events. */
inlined bool iterates(const ompt_dependence_t *deps) {
    return deps->dependence_type == ompt_dependence_type_source ||
           deps->dependence_type == ompt_dependence_type_sink;
}

/* depend_one records a single dependence, which is the usual case, in one record: its type in kind, its variable in
 * b. */
inlined void depend_one(const ompt_data_t *task, const ompt_dependence_t *dep, bool rare) {
    struct slot s;
    if (!slot_open(&s, rare, 1)) return;
    slot_first(&s, ompt_callback_dependences, (uint32_t)dep->dependence_type, RECORDER_FOLDED, 1,
               word_wait(s.ring, task), dep->variable.value);
    slot_close(&s);
}

/* depend_list records two dependences in each further record: variables in a and b, types in the halves of value. */
static void depend_list(const ompt_data_t *task, const ompt_dependence_t *deps, int n) {
    struct slot s;
    uint32_t kept = n < 0 || deps == NULL ? 0 : n > 2 * RECORDER_FOLLOW_MAX ? 2 * RECORDER_FOLLOW_MAX : (uint32_t)n;
    if (slot_open(&s, kept == 0 || !iterates(deps), 1 + (kept + 1) / 2)) {
        slot_first(&s, ompt_callback_dependences, 0, kept < (uint32_t)n ? RECORDER_CUT : 0, (uint32_t)n,
                   word_wait(s.ring, task), 0);
        for (uint32_t i = 0; i < kept; i += 2) {
            bool two = i + 1 < kept;
            uint32_t types = ((uint32_t)deps[i].dependence_type & 0xffff) |
                             (two ? (uint32_t)deps[i + 1].dependence_type << 16 : 0);
            slot_more(&s, 1 + i / 2, types, 0, deps[i].variable.value, two ? deps[i + 1].variable.value : 0);
        }
        slot_close(&s);
    }
}

void on_dependences(ompt_data_t *task, const ompt_dependence_t *deps, int n) {
    if (n != 1 || deps == NULL || (uint32_t)deps->dependence_type > UINT8_MAX)
        depend_list(task, deps, n);
    else if (iterates(deps))
        depend_one(task, deps, false);
    else
        depend_one(task, deps, true);
    NEXT(dependences, task, deps, n);
}

static void on_task_dependence(ompt_data_t *source, ompt_data_t *sink) {
    struct slot s;
    if (slot_open(&s, true, 1)) {
        slot_first(&s, ompt_callback_task_dependence, 0, 0, 0, id_of(source), word_wait(s.ring, sink));
        slot_close(&s);
    }
    NEXT(task_dependence, source, sink);
}

void on_cancel(ompt_data_t *task, int flags, const void *code) {
    record_rare(ompt_callback_cancel, 0, 0, (uint32_t)flags, recorder_address(code), id_of(task));
    NEXT(cancel, task, flags, code);
}

static void on_error(int severity, const char *message, size_t length, const void *code) {
    struct slot s;
    uint32_t kept = text_kept(message, length);
    if (slot_open(&s, true, 1 + text_records(kept))) {
        slot_first(&s, ompt_callback_error, (uint32_t)severity, kept < length ? RECORDER_CUT : 0, kept,
                   recorder_address(code), length);
        slot_text(&s, 1, message, kept);
        slot_close(&s);
    }
    NEXT(error, severity, message, length, code);
}

enum { COMMAND_START = 1, COMMAND_PAUSE = 2, COMMAND_END = 4 }; /* omp_control_tool_t */

/* pause_set pauses or resumes recording. Recording that was ended is never resumed. */
static void pause_set(uint32_t paused) {
    if (recorder_head->paused == COMMAND_END) return;
    if (recorder_head->paused != 0 && paused == 0) recorder_head->resumed = recorder_ticks();
    recorder_head->paused = paused;
    __atomic_store_n(&recorder_off, paused, __ATOMIC_RELAXED);
}

int on_control_tool(uint64_t command, uint64_t modifier, void *argument, const void *code) {
    if (command == COMMAND_START) pause_set(0);
    if (command == RECORDER_COMMAND_MARK)
        record_rare(RECORDER_MARK, 0, 0, 0, recorder_address(code), modifier);
    else
        record_rare(ompt_callback_control_tool, 0, 0, (uint32_t)command, recorder_address(code), modifier);
    if (command == COMMAND_PAUSE || command == COMMAND_END) pause_set((uint32_t)command);
    if (recorder_next[ompt_callback_control_tool] == NULL) return 0;
    return ((__typeof__(&on_control_tool))recorder_next[ompt_callback_control_tool])(command, modifier, argument, code);
}

const ompt_callback_t recorder_rare[64] = {
    CALLBACK(lock_init), CALLBACK(lock_destroy), CALLBACK(dependences),  CALLBACK(task_dependence),
    CALLBACK(cancel),    CALLBACK(error),        CALLBACK(control_tool),
};
