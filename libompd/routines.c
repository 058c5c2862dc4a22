/* routines.c: the routines on handles. Each checks its arguments, calls the helper, and copies the answer to memory of
 * the tool's allocator. It writes through output pointers only if it succeeds.
 */
#include <string.h>

#include "session.h"

/* HANDLE converts a pointer to a handle of any kind, which may be null. */
#define HANDLE(p) ((struct handle *)(void *)(p))

/* The index of a result in the helper's message, after the return code. */
enum { FIRST = 1, SECOND, THIRD, FOURTH };

/* call_for_handle calls the helper for a handle. */
static ompd_rc_t call_for_handle(uint32_t kind, const struct handle *h, struct wire_message *m) {
    m->kind = kind;
    m->word[1] = h->address;
    m->word[2] = h->level;
    return call_helper(h->space, m, "");
}

/* copy_text copies the text that the helper returned. */
static ompd_rc_t copy_text(const struct wire_message *m, const char **text) {
    void *memory;
    ompd_rc_t rc = allocate((uint64_t)m->size + 1, &memory);
    if (rc != ompd_rc_ok) return rc;
    memcpy(memory, session.bytes, m->size);
    ((char *)memory)[m->size] = 0;
    *text = memory;
    return ompd_rc_ok;
}

/* make_handle makes a handle from the helper's answer. */
static ompd_rc_t make_handle(const struct wire_message *m, ompd_address_space_handle_t *space, enum handle_kind kind,
                           void **out) {
    void *memory;
    ompd_rc_t rc = allocate(sizeof(struct handle), &memory);
    if (rc != ompd_rc_ok) return rc;
    *(struct handle *)memory = (struct handle){kind, space, space->id, m->word[FIRST], m->word[SECOND]};
    *out = memory;
    return ompd_rc_ok;
}

/* get_related implements the routines that return a handle for a handle and, in some cases, a number. */
static ompd_rc_t get_related(uint32_t kind, const struct handle *h, enum handle_kind of, int number,
                             enum handle_kind to, void **out) {
    struct wire_message m = {.word = {[3] = (uint64_t)(int64_t)number}};
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_handle(h, of);
    if (rc == ompd_rc_ok && !out) rc = ompd_rc_bad_input;
    if (rc == ompd_rc_ok) rc = call_for_handle(kind, h, &m);
    if (rc == ompd_rc_ok) rc = make_handle(&m, h->space, to, out);
    return unlock_session(rc);
}

/* release frees a handle. The memory does not look like a handle afterwards. */
static ompd_rc_t release(struct handle *h, enum handle_kind kind) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_handle(h, kind);
    if (rc == ompd_rc_ok) {
        h->kind = 0;
        if (CALLBACK(session.callbacks->free_memory(h)) != ompd_rc_ok) rc = ompd_rc_callback_error;
    }
    return unlock_session(rc);
}

static int compare_words(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static ompd_rc_t compare(const struct handle *a, const struct handle *b, enum handle_kind kind, int *value) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_handle(a, kind);
    if (rc == ompd_rc_ok) rc = check_handle(b, kind);
    if (rc == ompd_rc_ok && !value) rc = ompd_rc_bad_input;
    if (rc == ompd_rc_ok) {
        int by_space = compare_words(a->space_id, b->space_id), by_address = compare_words(a->address, b->address);
        *value = by_space ? by_space : by_address ? by_address : compare_words(a->level, b->level);
    }
    return unlock_session(rc);
}

/* query_handle calls the helper for a handle. The library stays locked only if it succeeds. */
static ompd_rc_t query_handle(uint32_t kind, const struct handle *h, enum handle_kind of, bool outputs,
                              struct wire_message *m) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_handle(h, of);
    if (rc == ompd_rc_ok && !outputs) rc = ompd_rc_bad_input;
    if (rc == ompd_rc_ok) rc = call_for_handle(kind, h, m);
    return rc == ompd_rc_ok ? rc : unlock_session(rc);
}

/* query_space does the same for an address space. */
static ompd_rc_t query_space(uint32_t kind, ompd_address_space_handle_t *space, bool outputs, struct wire_message *m,
                             const void *bytes) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_space(space);
    if (rc == ompd_rc_ok && !outputs) rc = ompd_rc_bad_input;
    m->kind = kind;
    if (rc == ompd_rc_ok) rc = call_helper(space, m, bytes);
    return rc == ompd_rc_ok ? rc : unlock_session(rc);
}

/* Address spaces. */

/* callback_error returns the code for a callback that returned rc. A callback that rejects the context has found a
 * wrong argument in the tool's own call. */
static ompd_rc_t callback_error(ompd_rc_t rc) {
    return rc == ompd_rc_stale_handle || rc == ompd_rc_bad_input ? ompd_rc_bad_input : ompd_rc_callback_error;
}

/* check_target reports whether the library can read the target: it must have 64 bits and the byte order of this
 * machine. */
static ompd_rc_t check_target(ompd_address_space_context_t *context) {
    ompd_device_type_sizes_t s = {0};
    const uint64_t probe = 0x0102030405060708;
    uint64_t same = 0;
    ompd_rc_t rc = CALLBACK(session.callbacks->sizeof_type(context, &s));
    if (rc == ompd_rc_ok) rc = CALLBACK(session.callbacks->device_to_host(context, &probe, sizeof probe, 1, &same));
    if (rc != ompd_rc_ok) return callback_error(rc);
    bool known = s.sizeof_char == 1 && s.sizeof_short == 2 && s.sizeof_int == 4 && s.sizeof_long == 8 &&
                 s.sizeof_long_long == 8 && s.sizeof_pointer == 8;
    return known && same == probe ? ompd_rc_ok : ompd_rc_incompatible;
}

static ompd_rc_t open_space(ompd_address_space_context_t *context, ompd_address_space_handle_t **slot) {
    struct wire_message m = {.kind = WIRE_PROCESS, .word = {[1] = (uint64_t)session.version}};
    ompd_address_space_handle_t space = {KIND_SPACE, 0, context};
    void *memory;
    ompd_rc_t rc = check_target(context);
    if (rc == ompd_rc_ok) rc = call_helper(&space, &m, "");
    if (rc != ompd_rc_ok) return rc;
    space.id = m.word[FIRST];
    if ((rc = allocate(sizeof space, &memory)) == ompd_rc_ok) {
        *slot = memory;
        **slot = space;
        return rc;
    }
    m = (struct wire_message){.kind = WIRE_RELEASE};
    call_helper(&space, &m, "");
    return rc;
}

ompd_rc_t ompd_process_initialize(ompd_address_space_context_t *context, ompd_address_space_handle_t **handle) {
    ompd_rc_t rc = lock_session(ompd_rc_unsupported);
    if (rc != ompd_rc_ok) return rc;
    if (!context || !handle) return unlock_session(ompd_rc_bad_input);
    for (int i = 0; i < MAX_SPACES; i++) {
        if (session.spaces[i]) continue;
        rc = open_space(context, &session.spaces[i]);
        if (rc == ompd_rc_ok) *handle = session.spaces[i];
        return unlock_session(rc);
    }
    return unlock_session(ompd_rc_nomem);
}

ompd_rc_t ompd_device_initialize(ompd_address_space_handle_t *host, ompd_address_space_context_t *device_context,
                                 ompd_device_t kind, ompd_size_t sizeof_id, void *id,
                                 ompd_address_space_handle_t **device) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    (void)kind; /* the host is the only device */
    rc = check_space(host);
    if (rc == ompd_rc_ok && (!device_context || !sizeof_id || !id || !device)) rc = ompd_rc_bad_input;
    return unlock_session(rc == ompd_rc_ok ? ompd_rc_unsupported : rc);
}

ompd_rc_t ompd_rel_address_space_handle(ompd_address_space_handle_t *space) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_space(WIRE_RELEASE, space, true, &m, "");
    if (rc != ompd_rc_ok && rc != ompd_rc_error) return rc;
    if (rc == ompd_rc_error) rc = lock_session(ompd_rc_stale_handle); /* the helper is lost */
    if (rc != ompd_rc_ok) return rc;
    for (int i = 0; i < MAX_SPACES; i++)
        if (session.spaces[i] == space) session.spaces[i] = NULL;
    space->kind = 0;
    rc = CALLBACK(session.callbacks->free_memory(space));
    return unlock_session(rc == ompd_rc_ok ? rc : ompd_rc_callback_error);
}

ompd_rc_t ompd_get_device_thread_id_kinds(ompd_address_space_handle_t *space, ompd_thread_id_t **kinds,
                                          ompd_size_t **sizes, int *count) {
    struct wire_message m = {0};
    void *k, *s;
    ompd_rc_t rc = query_space(WIRE_THREAD_ID_KINDS, space, kinds && sizes && count, &m, "");
    if (rc != ompd_rc_ok) return rc;
    uint64_t n = m.word[FIRST] <= 2 ? m.word[FIRST] : 2;
    if ((rc = allocate(n * sizeof **kinds, &k)) != ompd_rc_ok) return unlock_session(rc);
    if ((rc = allocate(n * sizeof **sizes, &s)) != ompd_rc_ok) {
        (void)CALLBACK(session.callbacks->free_memory(k));
        return unlock_session(rc);
    }
    *kinds = k, *sizes = s, *count = (int)n;
    for (uint64_t i = 0; i < n; i++) (*kinds)[i] = m.word[SECOND + 2 * i], (*sizes)[i] = m.word[THIRD + 2 * i];
    return unlock_session(ompd_rc_ok);
}

ompd_rc_t ompd_get_omp_version(ompd_address_space_handle_t *space, ompd_word_t *version) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_space(WIRE_OMP_VERSION, space, version, &m, "");
    if (rc != ompd_rc_ok) return rc;
    *version = (ompd_word_t)m.word[FIRST];
    return unlock_session(rc);
}

ompd_rc_t ompd_get_omp_version_string(ompd_address_space_handle_t *space, const char **string) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_space(WIRE_OMP_VERSION_STRING, space, string, &m, "");
    return rc == ompd_rc_ok ? unlock_session(copy_text(&m, string)) : rc;
}

/* Threads. */

enum { MAX_ID = 64 }; /* bytes of a thread identifier, of any kind */

ompd_rc_t ompd_get_thread_handle(ompd_address_space_handle_t *space, ompd_thread_id_t kind, ompd_size_t size,
                                 const void *id, ompd_thread_handle_t **thread) {
    struct wire_message m = {.size = size <= MAX_ID ? (uint32_t)size : 0, .word = {[1] = kind}};
    ompd_rc_t rc = query_space(WIRE_THREAD_HANDLE, space, id && thread, &m, id);
    return rc == ompd_rc_ok ? unlock_session(make_handle(&m, space, KIND_THREAD, (void **)thread)) : rc;
}

ompd_rc_t ompd_get_thread_id(ompd_thread_handle_t *thread, ompd_thread_id_t kind, ompd_size_t size, void *id) {
    struct wire_message m = {.word = {[3] = kind, [4] = size}};
    ompd_rc_t rc = query_handle(WIRE_THREAD_ID, HANDLE(thread), KIND_THREAD, id, &m);
    if (rc != ompd_rc_ok) return rc;
    if (m.size != size) return unlock_session(ompd_rc_error);
    memcpy(id, session.bytes, size);
    return unlock_session(rc);
}

ompd_rc_t ompd_get_thread_in_parallel(ompd_parallel_handle_t *parallel, int number, ompd_thread_handle_t **thread) {
    return get_related(WIRE_THREAD_IN_PARALLEL, HANDLE(parallel), KIND_PARALLEL, number, KIND_THREAD, (void **)thread);
}

ompd_rc_t ompd_rel_thread_handle(ompd_thread_handle_t *thread) { return release(HANDLE(thread), KIND_THREAD); }

ompd_rc_t ompd_thread_handle_compare(ompd_thread_handle_t *a, ompd_thread_handle_t *b, int *value) {
    return compare(HANDLE(a), HANDLE(b), KIND_THREAD, value);
}

ompd_rc_t ompd_get_device_from_thread(ompd_thread_handle_t *thread, ompd_address_space_handle_t **device) {
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    rc = check_handle(HANDLE(thread), KIND_THREAD);
    if (rc == ompd_rc_ok && !device) rc = ompd_rc_bad_input;
    if (rc == ompd_rc_ok) *device = thread->h.space;
    return unlock_session(rc);
}

/* Parallel regions. */

ompd_rc_t ompd_get_curr_parallel_handle(ompd_thread_handle_t *thread, ompd_parallel_handle_t **parallel) {
    return get_related(WIRE_CURR_PARALLEL, HANDLE(thread), KIND_THREAD, 0, KIND_PARALLEL, (void **)parallel);
}

ompd_rc_t ompd_get_enclosing_parallel_handle(ompd_parallel_handle_t *parallel, ompd_parallel_handle_t **enclosing) {
    return get_related(WIRE_ENCLOSING_PARALLEL, HANDLE(parallel), KIND_PARALLEL, 0, KIND_PARALLEL, (void **)enclosing);
}

ompd_rc_t ompd_get_task_parallel_handle(ompd_task_handle_t *task, ompd_parallel_handle_t **parallel) {
    return get_related(WIRE_TASK_PARALLEL, HANDLE(task), KIND_TASK, 0, KIND_PARALLEL, (void **)parallel);
}

ompd_rc_t ompd_rel_parallel_handle(ompd_parallel_handle_t *parallel) { return release(HANDLE(parallel), KIND_PARALLEL); }

ompd_rc_t ompd_parallel_handle_compare(ompd_parallel_handle_t *a, ompd_parallel_handle_t *b, int *value) {
    return compare(HANDLE(a), HANDLE(b), KIND_PARALLEL, value);
}

/* Tasks. */

ompd_rc_t ompd_get_curr_task_handle(ompd_thread_handle_t *thread, ompd_task_handle_t **task) {
    return get_related(WIRE_CURR_TASK, HANDLE(thread), KIND_THREAD, 0, KIND_TASK, (void **)task);
}

ompd_rc_t ompd_get_generating_task_handle(ompd_task_handle_t *task, ompd_task_handle_t **generating) {
    return get_related(WIRE_GENERATING_TASK, HANDLE(task), KIND_TASK, 0, KIND_TASK, (void **)generating);
}

ompd_rc_t ompd_get_scheduling_task_handle(ompd_task_handle_t *task, ompd_task_handle_t **scheduling) {
    return get_related(WIRE_SCHEDULING_TASK, HANDLE(task), KIND_TASK, 0, KIND_TASK, (void **)scheduling);
}

ompd_rc_t ompd_get_task_in_parallel(ompd_parallel_handle_t *parallel, int number, ompd_task_handle_t **task) {
    return get_related(WIRE_TASK_IN_PARALLEL, HANDLE(parallel), KIND_PARALLEL, number, KIND_TASK, (void **)task);
}

ompd_rc_t ompd_rel_task_handle(ompd_task_handle_t *task) { return release(HANDLE(task), KIND_TASK); }

ompd_rc_t ompd_task_handle_compare(ompd_task_handle_t *a, ompd_task_handle_t *b, int *value) {
    return compare(HANDLE(a), HANDLE(b), KIND_TASK, value);
}

ompd_rc_t ompd_get_task_function(ompd_task_handle_t *task, ompd_address_t *entry) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_handle(WIRE_TASK_FUNCTION, HANDLE(task), KIND_TASK, entry, &m);
    if (rc != ompd_rc_ok) return rc;
    *entry = (ompd_address_t){m.word[FIRST], m.word[SECOND]};
    return unlock_session(rc);
}

ompd_rc_t ompd_get_task_frame(ompd_task_handle_t *task, ompd_frame_info_t *exit, ompd_frame_info_t *enter) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_handle(WIRE_TASK_FRAME, HANDLE(task), KIND_TASK, exit && enter, &m);
    if (rc != ompd_rc_ok) return rc;
    *exit = (ompd_frame_info_t){{ompd_segment_none, m.word[FIRST]}, (ompd_word_t)m.word[SECOND]};
    *enter = (ompd_frame_info_t){{ompd_segment_none, m.word[THIRD]}, (ompd_word_t)m.word[FOURTH]};
    return unlock_session(rc);
}

/* States, control variables and tool data. */

ompd_rc_t ompd_enumerate_states(ompd_address_space_handle_t *space, ompd_word_t current, ompd_word_t *next,
                                const char **name, ompd_word_t *more) {
    struct wire_message m = {.word = {[1] = (uint64_t)current}};
    ompd_rc_t rc = query_space(WIRE_NEXT_STATE, space, next && name && more, &m, "");
    if (rc != ompd_rc_ok) return rc;
    rc = copy_text(&m, name);
    if (rc == ompd_rc_ok) *next = (ompd_word_t)m.word[FIRST], *more = (ompd_word_t)m.word[SECOND];
    return unlock_session(rc);
}

ompd_rc_t ompd_get_state(ompd_thread_handle_t *thread, ompd_word_t *state, ompd_wait_id_t *wait_id) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_handle(WIRE_STATE, HANDLE(thread), KIND_THREAD, state, &m);
    if (rc != ompd_rc_ok) return rc;
    *state = (ompd_word_t)m.word[FIRST];
    if (wait_id) *wait_id = m.word[SECOND]; /* the tool may pass NULL */
    return unlock_session(rc);
}

ompd_rc_t ompd_get_display_control_vars(ompd_address_space_handle_t *space, const char *const **vars) {
    struct wire_message m = {0};
    void *memory;
    ompd_rc_t rc = query_space(WIRE_CONTROL_VARS, space, vars, &m, "");
    if (rc != ompd_rc_ok) return rc;
    /* One block: the pointers, the null that ends them, and the texts. The helper ended each text by a NUL. */
    uint64_t n = m.word[FIRST], i = 0;
    if (n > m.size || (m.size && session.bytes[m.size - 1])) return unlock_session(ompd_rc_error);
    if ((rc = allocate((n + 1) * sizeof(char *) + m.size, &memory)) != ompd_rc_ok) return unlock_session(rc);
    const char **list = memory;
    char *text = (char *)(list + n + 1), *end = text + m.size;
    memcpy(text, session.bytes, m.size);
    for (; i < n && text < end; i++, text += strlen(text) + 1) list[i] = text;
    list[i] = NULL;
    *vars = list;
    return unlock_session(rc);
}

ompd_rc_t ompd_rel_display_control_vars(const char *const **vars) {
    ompd_rc_t rc = lock_session(ompd_rc_unsupported);
    if (rc != ompd_rc_ok) return rc;
    if (!vars || !*vars) return unlock_session(ompd_rc_bad_input);
    if (CALLBACK(session.callbacks->free_memory((void *)*vars)) != ompd_rc_ok)
        return unlock_session(ompd_rc_callback_error);
    *vars = NULL;
    return unlock_session(rc);
}

ompd_rc_t ompd_enumerate_icvs(ompd_address_space_handle_t *space, ompd_icv_id_t current, ompd_icv_id_t *next,
                              const char **name, ompd_scope_t *scope, int *more) {
    struct wire_message m = {.word = {[1] = current}};
    ompd_rc_t rc = query_space(WIRE_NEXT_ICV, space, next && name && scope && more, &m, "");
    if (rc != ompd_rc_ok) return rc;
    if ((rc = copy_text(&m, name)) != ompd_rc_ok) return unlock_session(rc);
    *next = m.word[FIRST], *scope = (ompd_scope_t)m.word[SECOND], *more = (int)m.word[THIRD];
    return unlock_session(rc);
}

/* query_scope calls the helper for a handle of the kind for the scope. The library stays locked if it succeeds,
 * or if the answer is incomplete. */
static ompd_rc_t query_scope(uint32_t kind, void *handle, ompd_scope_t scope, uint64_t id, bool outputs,
                        struct wire_message *m) {
    static const uint64_t kinds[] = {
        [ompd_scope_global] = KIND_SPACE,           [ompd_scope_address_space] = KIND_SPACE,
        [ompd_scope_thread] = KIND_THREAD,          [ompd_scope_parallel] = KIND_PARALLEL,
        [ompd_scope_implicit_task] = KIND_TASK,     [ompd_scope_task] = KIND_TASK,
        [ompd_scope_teams] = KIND_PARALLEL,         [ompd_scope_target] = KIND_PARALLEL,
    };
    struct handle *h = handle, space = {0};
    ompd_rc_t rc = lock_session(ompd_rc_stale_handle);
    if (rc != ompd_rc_ok) return rc;
    ompd_scope_t last = session.version >= OMPD_60 ? ompd_scope_target : ompd_scope_task;
    if (!handle) return unlock_session(ompd_rc_stale_handle);
    if (scope < ompd_scope_global || scope > last || !outputs) return unlock_session(ompd_rc_bad_input);
    if (kinds[scope] == KIND_SPACE && check_space(handle) == ompd_rc_ok) {
        space.space = handle;
        h = &space;
    } else if (kinds[scope] == KIND_SPACE) {
        rc = check_handle(h, KIND_THREAD);
        return unlock_session(rc == ompd_rc_stale_handle ? rc : ompd_rc_incompatible_handle);
    } else if ((rc = check_handle(h, (enum handle_kind)kinds[scope])) != ompd_rc_ok) {
        return unlock_session(rc);
    }
    m->word[3] = scope, m->word[4] = id;
    rc = call_for_handle(kind, h, m);
    return rc == ompd_rc_ok || rc == ompd_rc_incomplete ? rc : unlock_session(rc);
}

ompd_rc_t ompd_get_icv_from_scope(void *handle, ompd_scope_t scope, ompd_icv_id_t id, ompd_word_t *value) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_scope(WIRE_ICV, handle, scope, id, value, &m);
    if (rc != ompd_rc_ok && rc != ompd_rc_incomplete) return rc;
    *value = (ompd_word_t)m.word[FIRST];
    return unlock_session(rc);
}

ompd_rc_t ompd_get_icv_string_from_scope(void *handle, ompd_scope_t scope, ompd_icv_id_t id, const char **string) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_scope(WIRE_ICV_STRING, handle, scope, id, string, &m);
    if (rc != ompd_rc_ok && rc != ompd_rc_incomplete) return rc;
    return unlock_session(copy_text(&m, string));
}

ompd_rc_t ompd_get_tool_data(void *handle, ompd_scope_t scope, ompd_word_t *value, ompd_address_t *ptr) {
    struct wire_message m = {0};
    ompd_rc_t rc = query_scope(WIRE_TOOL_DATA, handle, scope, 0, value && ptr, &m);
    if (rc != ompd_rc_ok && rc != ompd_rc_incomplete) return rc;
    *value = (ompd_word_t)m.word[FIRST];
    *ptr = (ompd_address_t){ompd_segment_none, m.word[FIRST]};
    return unlock_session(rc);
}
