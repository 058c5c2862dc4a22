/* misuse.c: wrong calls, which the library must refuse, and calls that it must survive. */
#include <string.h>

#include "conform.h"

/* check_life asserts which routines can be called before, during and after the use of the library. The library may call
 * back only where it reads the target. */
void check_life(struct suite *s) {
    ompd_word_t version = 0;
    const char *text = NULL, *again = NULL;
    ompd_address_space_handle_t *space = NULL;
    about(s, "before the library is initialized");
    long calls = s->tool->calls, blocks = s->tool->blocks;
    if (OK(ompd_get_api_version, &version)) HOLDS(ompd_get_api_version, version >= 201811, "%ld", (long)version);
    if (OK(ompd_get_version_string, &text)) HOLDS(ompd_get_version_string, text && *text, "no text");
    OK(ompd_get_version_string, &again);
    HOLDS(ompd_get_version_string, text == again, "another text each time");
    RETURNS(ompd_rc_bad_input, ompd_get_api_version, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_version_string, NULL);
    RETURNS(ompd_rc_unsupported, ompd_finalize);
    RETURNS(ompd_rc_unsupported, ompd_process_initialize, context(0), &space);
    RETURNS(ompd_rc_bad_input, ompd_initialize, version, NULL);
    RETURNS(ompd_rc_unsupported, ompd_initialize, 199905, &callbacks);
    RETURNS(ompd_rc_unsupported, ompd_initialize, 209901, &callbacks);
    RETURNS(ompd_rc_bad_input, ompd_initialize, version, &(ompd_callbacks_t){0});
    HOLDS(ompd_initialize, s->tool->calls == calls && s->tool->blocks == blocks, "callbacks were called");
    for (ompd_word_t *v = (ompd_word_t[]){201811, 202011, 202111, version, 0}; *v; v++) {
        about(s, "version %ld", (long)*v);
        if (*v > version) continue;
        OK(ompd_initialize, *v, &callbacks);
        HOLDS(ompd_initialize, s->tool->calls == calls, "callbacks were called");
        OK(ompd_finalize);
        RETURNS(ompd_rc_unsupported, ompd_finalize);
    }
}

/* The handles for wrong calls. */
struct held {
    ompd_address_space_handle_t *space;
    ompd_thread_handle_t *thread;
    ompd_parallel_handle_t *region;
    ompd_task_handle_t *task;
};

static void check_null_handles(struct suite *s) {
    ompd_word_t word;
    ompd_address_t address;
    ompd_frame_info_t frame;
    const char *text;
    const char *const *vars = NULL;
    ompd_thread_handle_t *thread;
    ompd_parallel_handle_t *region;
    ompd_task_handle_t *task;
    ompd_address_space_handle_t *space;
    ompd_thread_id_t *kinds;
    ompd_size_t *sizes;
    ompd_icv_id_t id;
    ompd_scope_t scope;
    long lwp = 1;
    int n;
    about(s, "null handles");
    RETURNS(ompd_rc_bad_input, ompd_process_initialize, NULL, &space);
    RETURNS(ompd_rc_stale_handle, ompd_device_initialize, NULL, context(0), 1, sizeof lwp, &lwp, &space);
    RETURNS(ompd_rc_stale_handle, ompd_rel_address_space_handle, NULL);
    RETURNS(ompd_rc_stale_handle, ompd_get_device_thread_id_kinds, NULL, &kinds, &sizes, &n);
    RETURNS(ompd_rc_stale_handle, ompd_get_omp_version, NULL, &word);
    RETURNS(ompd_rc_stale_handle, ompd_get_omp_version_string, NULL, &text);
    RETURNS(ompd_rc_stale_handle, ompd_get_thread_in_parallel, NULL, 0, &thread);
    RETURNS(ompd_rc_stale_handle, ompd_get_thread_handle, NULL, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp, &thread);
    RETURNS(ompd_rc_stale_handle, ompd_rel_thread_handle, NULL);
    RETURNS(ompd_rc_stale_handle, ompd_thread_handle_compare, NULL, NULL, &n);
    RETURNS(ompd_rc_stale_handle, ompd_get_thread_id, NULL, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp);
    RETURNS(ompd_rc_stale_handle, ompd_get_device_from_thread, NULL, &space);
    RETURNS(ompd_rc_stale_handle, ompd_get_curr_parallel_handle, NULL, &region);
    RETURNS(ompd_rc_stale_handle, ompd_get_enclosing_parallel_handle, NULL, &region);
    RETURNS(ompd_rc_stale_handle, ompd_get_task_parallel_handle, NULL, &region);
    RETURNS(ompd_rc_stale_handle, ompd_rel_parallel_handle, NULL);
    RETURNS(ompd_rc_stale_handle, ompd_parallel_handle_compare, NULL, NULL, &n);
    RETURNS(ompd_rc_stale_handle, ompd_get_curr_task_handle, NULL, &task);
    RETURNS(ompd_rc_stale_handle, ompd_get_generating_task_handle, NULL, &task);
    RETURNS(ompd_rc_stale_handle, ompd_get_scheduling_task_handle, NULL, &task);
    RETURNS(ompd_rc_stale_handle, ompd_get_task_in_parallel, NULL, 0, &task);
    RETURNS(ompd_rc_stale_handle, ompd_rel_task_handle, NULL);
    RETURNS(ompd_rc_stale_handle, ompd_task_handle_compare, NULL, NULL, &n);
    RETURNS(ompd_rc_stale_handle, ompd_get_task_function, NULL, &address);
    RETURNS(ompd_rc_stale_handle, ompd_get_task_frame, NULL, &frame, &frame);
    RETURNS(ompd_rc_stale_handle, ompd_enumerate_states, NULL, 0x102, &word, &text, &word);
    RETURNS(ompd_rc_stale_handle, ompd_get_state, NULL, &word, (ompd_wait_id_t *)&word);
    RETURNS(ompd_rc_stale_handle, ompd_get_display_control_vars, NULL, &vars);
    RETURNS(ompd_rc_stale_handle, ompd_enumerate_icvs, NULL, 0, &id, &text, &scope, &n);
    RETURNS(ompd_rc_bad_input, ompd_rel_display_control_vars, NULL);
    RETURNS(ompd_rc_bad_input, ompd_rel_display_control_vars, &vars);
    for (int scope_no = ompd_scope_address_space; scope_no <= ompd_scope_task; scope_no++) {
        RETURNS(ompd_rc_stale_handle, ompd_get_icv_from_scope, NULL, (ompd_scope_t)scope_no, 1, &word);
        RETURNS(ompd_rc_stale_handle, ompd_get_icv_string_from_scope, NULL, (ompd_scope_t)scope_no, 1, &text);
        RETURNS(ompd_rc_stale_handle, ompd_get_tool_data, NULL, (ompd_scope_t)scope_no, &word, &address);
    }
}

static void check_null_outputs(struct suite *s, const struct held *h) {
    ompd_word_t word;
    ompd_address_t address;
    ompd_frame_info_t frame;
    const char *text;
    ompd_thread_handle_t *thread;
    ompd_icv_id_t id;
    ompd_scope_t scope;
    long lwp = s->facts->thread[0].lwp;
    int n;
    about(s, "null outputs");
    RETURNS(ompd_rc_bad_input, ompd_process_initialize, context(1), NULL);
    RETURNS(ompd_rc_bad_input, ompd_device_initialize, h->space, NULL, 1, 0, NULL, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_device_thread_id_kinds, h->space, NULL, NULL, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_omp_version, h->space, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_omp_version_string, h->space, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_in_parallel, h->region, 0, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, sizeof lwp, NULL, &thread);
    RETURNS(ompd_rc_bad_input, ompd_thread_handle_compare, h->thread, h->thread, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_id, h->thread, OMPD_THREAD_ID_PTHREAD, sizeof lwp, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_device_from_thread, h->thread, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_curr_parallel_handle, h->thread, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_enclosing_parallel_handle, h->region, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_task_parallel_handle, h->task, NULL);
    RETURNS(ompd_rc_bad_input, ompd_parallel_handle_compare, h->region, h->region, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_curr_task_handle, h->thread, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_generating_task_handle, h->task, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_scheduling_task_handle, h->task, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_task_in_parallel, h->region, 0, NULL);
    RETURNS(ompd_rc_bad_input, ompd_task_handle_compare, h->task, h->task, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_task_function, h->task, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_task_frame, h->task, NULL, &frame);
    RETURNS(ompd_rc_bad_input, ompd_get_task_frame, h->task, &frame, NULL);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_states, h->space, 0x102, NULL, &text, &word);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_states, h->space, 0x102, &word, NULL, &word);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_states, h->space, 0x102, &word, &text, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_state, h->thread, NULL, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_display_control_vars, h->space, NULL);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_icvs, h->space, 0, NULL, &text, &scope, &n);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_icvs, h->space, 0, &id, NULL, &scope, &n);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_icvs, h->space, 0, &id, &text, NULL, &n);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_icvs, h->space, 0, &id, &text, &scope, NULL);
    RETURNS(ompd_rc_bad_input, ompd_get_tool_data, h->thread, ompd_scope_thread, NULL, &address);
    RETURNS(ompd_rc_bad_input, ompd_get_tool_data, h->thread, ompd_scope_thread, &word, NULL);
    for (ompd_icv_id_t v = 1; v <= 4; v++) {
        RETURNS(ompd_rc_bad_input, ompd_get_icv_from_scope, h->task, ompd_scope_task, v, NULL);
        RETURNS(ompd_rc_bad_input, ompd_get_icv_string_from_scope, h->task, ompd_scope_task, v, NULL);
    }
}

/* expect_refused asserts that a return code is one for an invalid argument. */
static void expect_refused(struct suite *s, enum routine r, const char *call, int rc) {
    expect(s, r, rc == ompd_rc_bad_input || rc == ompd_rc_incompatible || rc == ompd_rc_incompatible_handle || rc == ompd_rc_stale_handle,
           call, "returns %d", rc);
}
#define REFUSED(f, ...) expect_refused(s, ID_##f, #f "(" #__VA_ARGS__ ")", CALL(f, __VA_ARGS__))

static void check_wrong_values(struct suite *s, const struct held *h) {
    ompd_word_t word;
    ompd_address_t address;
    const char *text;
    ompd_thread_handle_t *thread;
    ompd_task_handle_t *task;
    ompd_address_space_handle_t *device;
    ompd_icv_id_t id;
    ompd_scope_t scope;
    long lwp = s->facts->thread[0].lwp, nobody = 1;
    int n;
    about(s, "wrong kinds, sizes, numbers and scopes");
    RETURNS(ompd_rc_unsupported, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP + 1, sizeof lwp, &lwp, &thread);
    RETURNS(ompd_rc_unsupported, ompd_get_thread_handle, h->space, 1000000, sizeof lwp, &lwp, &thread);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, 3, &lwp, &thread);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, 1L << 40, &lwp, &thread);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_PTHREAD, 4, &lwp, &thread);
    RETURNS(ompd_rc_unavailable, ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, sizeof nobody, &nobody, &thread);
    RETURNS(ompd_rc_unsupported, ompd_get_thread_id, h->thread, OMPD_THREAD_ID_LWP + 1, sizeof lwp, &lwp);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_id, h->thread, OMPD_THREAD_ID_PTHREAD, 4, &lwp);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_id, h->thread, OMPD_THREAD_ID_PTHREAD, 16, &lwp);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_in_parallel, h->region, -1, &thread);
    RETURNS(ompd_rc_bad_input, ompd_get_task_in_parallel, h->region, -1, &task);
    RETURNS(ompd_rc_bad_input, ompd_get_thread_in_parallel, h->region, 1 << 30, &thread);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_states, h->space, 99999, &word, &text, &word);
    RETURNS(ompd_rc_bad_input, ompd_enumerate_icvs, h->space, 99999, &id, &text, &scope, &n);
    int rc = CALL(ompd_device_initialize, h->space, context(1), 2, sizeof lwp, &lwp, &device);
    HOLDS(ompd_device_initialize, rc == ompd_rc_unsupported || rc == ompd_rc_unavailable, "returns %d", rc);
    RETURNS(ompd_rc_bad_input, ompd_get_icv_from_scope, h->space, ompd_scope_address_space, 99999, &word);
    RETURNS(ompd_rc_bad_input, ompd_get_icv_from_scope, h->space, ompd_scope_address_space, 0, &word);
    RETURNS(ompd_rc_bad_input, ompd_get_icv_string_from_scope, h->space, ompd_scope_address_space, 99999, &text);
    REFUSED(ompd_get_icv_from_scope, h->space, (ompd_scope_t)0, 1, &word);
    REFUSED(ompd_get_icv_from_scope, h->space, (ompd_scope_t)77, 1, &word);
    REFUSED(ompd_get_icv_string_from_scope, h->space, (ompd_scope_t)77, 1, &text);
    REFUSED(ompd_get_tool_data, h->space, ompd_scope_address_space, &word, &address);
    REFUSED(ompd_get_tool_data, h->thread, (ompd_scope_t)77, &word, &address);
    for (ompd_icv_id_t v = 1; v <= 12; v++) { /* for any variable: a handle of the wrong scope */
        REFUSED(ompd_get_icv_from_scope, h->space, ompd_scope_task, v, &word);
        REFUSED(ompd_get_icv_from_scope, h->task, ompd_scope_address_space, v, &word);
        REFUSED(ompd_get_icv_from_scope, h->thread, ompd_scope_parallel, v, &word);
        REFUSED(ompd_get_icv_string_from_scope, h->task, ompd_scope_thread, v, &text);
    }
    REFUSED(ompd_get_tool_data, h->thread, ompd_scope_task, &word, &address);
    REFUSED(ompd_get_tool_data, h->task, ompd_scope_parallel, &word, &address);
}

/* take_handles gets the handles of a thread that is in a region, which may be the outermost one. */
static bool take_handles(struct suite *s, struct held *h, ompd_word_t version, int n) {
    if (CALL(ompd_initialize, version, &callbacks) != ompd_rc_ok && CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return false;
    if (!OK(ompd_process_initialize, context(n), &h->space)) return false;
    for (int i = 0; i < s->facts->threads; i++) {
        const struct thread_fact *t = &s->facts->thread[i];
        if (!t->openmp || t->idle) continue;
        return OK(ompd_get_thread_handle, h->space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &h->thread) &&
               OK(ompd_get_curr_parallel_handle, h->thread, &h->region) && OK(ompd_get_curr_task_handle, h->thread, &h->task);
    }
    return false;
}

static void release_handles(struct suite *s, struct held *h) {
    OK(ompd_rel_task_handle, h->task);
    OK(ompd_rel_parallel_handle, h->region);
    OK(ompd_rel_thread_handle, h->thread);
    OK(ompd_rel_address_space_handle, h->space);
}

/* check_second_table asserts that a tool may initialize the library again with other callbacks, and that its handles
 * stay valid. */
static void check_second_table(struct suite *s, const struct held *h, ompd_word_t version) {
    static ompd_callbacks_t other;
    ompd_word_t word = 0;
    ompd_address_space_handle_t *none;
    other = callbacks;
    about(s, "a second table of callbacks");
    if (CALL(ompd_initialize, version, &other) != ompd_rc_ok) OK(ompd_initialize, 201811, &other);
    RETURNS(ompd_rc_unsupported, ompd_initialize, 199905, &callbacks);
    RETURNS(ompd_rc_bad_input, ompd_initialize, version, NULL);
    if (OK(ompd_get_omp_version, h->space, &word)) HOLDS(ompd_get_omp_version, word == s->facts->omp_version, "%ld", (long)word);
    if (CALL(ompd_initialize, version, &callbacks) != ompd_rc_ok) OK(ompd_initialize, 201811, &callbacks);
    about(s, "a context that the tool does not know");
    REFUSED(ompd_process_initialize, context(STRANGER), &none);
}

void check_misuse(struct suite *s, ompd_word_t version) {
    struct held h = {0};
    ompd_word_t word;
    ompd_task_handle_t *task;
    about(s, "misuse");
    if (!take_handles(s, &h, version, 0)) return;
    long before = s->tool->blocks, calls;
    check_null_handles(s);
    check_null_outputs(s, &h);
    check_wrong_values(s, &h);
    check_second_table(s, &h, version);
    about(s, "memory after misuse");
    HOLDS(ompd_finalize, s->tool->blocks == before && !s->tool->foreign, "%ld blocks are left", s->tool->blocks - before);
    about(s, "no look at the target");
    calls = s->tool->calls;
    int order;
    OK(ompd_task_handle_compare, h.task, h.task, &order);
    OK(ompd_parallel_handle_compare, h.region, h.region, &order);
    OK(ompd_thread_handle_compare, h.thread, h.thread, &order);
    release_handles(s, &h);
    HOLDS(ompd_rel_address_space_handle, s->tool->calls == calls, "callbacks were called");
    OK(ompd_finalize);
    about(s, "after the library was finalized");
    if (!take_handles(s, &h, version, 0)) return;
    OK(ompd_finalize);
    int rc = CALL(ompd_get_omp_version, h.space, &word);
    HOLDS(ompd_get_omp_version, rc != ompd_rc_ok && rc != CRASHED, "returns %d", rc);
    rc = CALL(ompd_get_curr_task_handle, h.thread, &task);
    HOLDS(ompd_get_curr_task_handle, rc != ompd_rc_ok && rc != CRASHED, "returns %d", rc);
    if (rc == ompd_rc_ok) CALL(ompd_rel_task_handle, task);
    RETURNS(ompd_rc_unsupported, ompd_finalize);
    callbacks.free_memory(h.task), callbacks.free_memory(h.region), callbacks.free_memory(h.thread), callbacks.free_memory(h.space);
    HOLDS(ompd_finalize, s->tool->blocks == 0, "%ld blocks are left", s->tool->blocks);
}
