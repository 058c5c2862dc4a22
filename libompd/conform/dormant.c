/* dormant.c: the moment before the program uses its runtime, in which debuggers load the library. */
#include <string.h>

#include "conform.h"

/* later asserts that what only a runtime in use knows is not there yet, rather than a failure. */
static void later(enum routine r, const char *call, int rc) {
    expect(r, rc == ompd_rc_unavailable, call, "returns %d, want unavailable", rc);
}
#define LATER(f, ...) later(ID_##f, #f "(" #__VA_ARGS__ ")", CALL(f, __VA_ARGS__))

void check_dormant(ompd_word_t version) {
    ompd_address_space_handle_t *space = NULL;
    ompd_thread_handle_t *thread = NULL;
    ompd_thread_id_t *kinds = NULL;
    ompd_size_t *sizes = NULL;
    const char *const *vars = NULL;
    unsigned long lwp = (unsigned long)facts.pid;
    int count;
    about("the program");
    OK(ompd_initialize, version, &callbacks);
    if (OK(ompd_process_initialize, context(0), &space)) {
        check_constants(space);
        about("a runtime that is not used yet");
        LATER(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp, &thread);
        LATER(ompd_get_display_control_vars, space, &vars);
        check_variables_later(space);
        if (version >= version_of(ID_ompd_get_device_thread_id_kinds)) LATER(ompd_get_device_thread_id_kinds, space, &kinds, &sizes, &count);
        RETURNS(ompd_rc_bad_input, ompd_get_omp_version, space, NULL);
        RETURNS(ompd_rc_bad_input, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof lwp, NULL, &thread);
        OK(ompd_rel_address_space_handle, space);
    }
    HOLDS(ompd_finalize, tool.blocks == 0, "%ld blocks are left", tool.blocks);
    OK(ompd_finalize);
}
