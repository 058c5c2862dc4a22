/* dormant.c: debuggers load the library before the program uses its runtime. */
#include <string.h>

#include "conform.h"

/* expect_unavailable asserts that facts that only a used runtime knows are unavailable, which is not a failure. */
static void expect_unavailable(struct suite *s, enum routine r, const char *call, int rc) {
    expect(s, r, rc == ompd_rc_unavailable, call, "returns %d, want unavailable", rc);
}
#define LATER(f, ...) expect_unavailable(s, ID_##f, #f "(" #__VA_ARGS__ ")", CALL(f, __VA_ARGS__))

void check_dormant(struct suite *s, ompd_word_t version) {
    ompd_address_space_handle_t *space = NULL;
    ompd_thread_handle_t *thread = NULL;
    ompd_thread_id_t *kinds = NULL;
    ompd_size_t *sizes = NULL;
    const char *const *vars = NULL;
    unsigned long lwp = (unsigned long)s->facts->pid;
    int count;
    about(s, "the program");
    OK(ompd_initialize, version, &callbacks);
    if (OK(ompd_process_initialize, context(0), &space)) {
        check_constants(s, space);
        about(s, "a runtime that is not used yet");
        LATER(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp, &thread);
        LATER(ompd_get_display_control_vars, space, &vars);
        check_variables_later(s, space);
        if (version >= version_of(ID_ompd_get_device_thread_id_kinds)) LATER(ompd_get_device_thread_id_kinds, space, &kinds, &sizes, &count);
        RETURNS(ompd_rc_bad_input, ompd_get_omp_version, space, NULL);
        RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof lwp, NULL, &thread);
        OK(ompd_rel_address_space_handle, space);
    }
    HOLDS(ompd_finalize, s->tool->blocks == 0, "%ld blocks are left", s->tool->blocks);
    OK(ompd_finalize);
}
