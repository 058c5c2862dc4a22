/* program.c: compares the library's answers about the program with the facts. */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

/* A variable in the library's list. */
static struct variable {
    char name[64];
    ompd_icv_id_t id;
    ompd_scope_t scope;
} variables[96];
static int variable_count;

static const struct variable *find_variable(const char *name) {
    for (int i = 0; i < variable_count; i++)
        if (!strcmp(variables[i].name, name)) return &variables[i];
    return NULL;
}

static void free_block(const void *p) {
    if (p) callbacks.free_memory((void *)p);
}

/* States of OpenMP 5.1 by value, those that a program can be in. */
static const struct {
    int value;
    const char *name;
} states[] = {
    {0x000, "ompt_state_work_serial"}, {0x001, "ompt_state_work_parallel"}, {0x002, "ompt_state_work_reduction"},
    {0x011, "ompt_state_wait_barrier_implicit_parallel"}, {0x012, "ompt_state_wait_barrier_implicit_workshare"},
    {0x014, "ompt_state_wait_barrier_explicit"}, {0x015, "ompt_state_wait_barrier_implementation"},
    {0x016, "ompt_state_wait_barrier_teams"}, {0x020, "ompt_state_wait_taskwait"}, {0x021, "ompt_state_wait_taskgroup"},
    {0x040, "ompt_state_wait_mutex"}, {0x041, "ompt_state_wait_lock"}, {0x042, "ompt_state_wait_critical"},
    {0x043, "ompt_state_wait_atomic"}, {0x044, "ompt_state_wait_ordered"}, {0x080, "ompt_state_wait_target"},
    {0x081, "ompt_state_wait_target_map"}, {0x082, "ompt_state_wait_target_update"}, {0x100, "ompt_state_idle"},
    {0x101, "ompt_state_overhead"}, {0x102, "ompt_state_undefined"},
};
enum { STATES = sizeof states / sizeof *states };

static void check_states(struct suite *s, ompd_address_space_handle_t *space) {
    bool seen[STATES] = {false};
    ompd_word_t at = 0x102, more = 1;
    int listed = 0;
    about(s, "all states");
    for (; more && listed < 64; listed++) {
        const char *name = NULL;
        if (!OK(ompd_enumerate_states, space, at, &at, &name, &more)) break;
        for (int i = 0; i < STATES; i++)
            if (states[i].value == at && HOLDS(ompd_enumerate_states, name && !strcmp(name, states[i].name), "state %#lx is %s", at, name))
                seen[i] = true;
        free_block(name);
    }
    for (int i = 0; i < STATES; i++) HOLDS(ompd_enumerate_states, seen[i], "%s is not listed", states[i].name);
    HOLDS(ompd_enumerate_states, !more && listed < 64, "the list has no end");
}

static void list_variables(struct suite *s, ompd_address_space_handle_t *space) {
    ompd_icv_id_t at = 0;
    int more = 1;
    about(s, "all variables");
    while (more && variable_count < (int)(sizeof variables / sizeof *variables)) {
        const char *name = NULL;
        struct variable *v = &variables[variable_count];
        if (!OK(ompd_enumerate_icvs, space, at, &at, &name, &v->scope, &more)) break;
        snprintf(v->name, sizeof v->name, "%s", name ? name : "");
        v->id = at;
        HOLDS(ompd_enumerate_icvs, *v->name && !find_variable(v->name), "variable %ld is called \"%s\"", (long)at, v->name);
        HOLDS(ompd_enumerate_icvs, v->scope >= ompd_scope_global && v->scope <= ompd_scope_task, "scope %d", v->scope);
        free_block(name);
        variable_count++;
    }
    HOLDS(ompd_enumerate_icvs, !more, "the list has no end");
}

/* check_texts asserts that every variable of the address space has a text in the usual notation, and that it equals the
 * integer if both exist. */
static void check_texts(struct suite *s, ompd_address_space_handle_t *space) {
    for (int i = 0; i < variable_count; i++) {
        const struct variable *v = &variables[i];
        const char *text = NULL;
        ompd_word_t n = 0;
        if (v->scope != ompd_scope_address_space) continue;
        about(s, "%s", v->name);
        if (CALL(ompd_get_icv_from_scope, space, v->scope, v->id, &n) != ompd_rc_ok) continue;
        if (!OK(ompd_get_icv_string_from_scope, space, v->scope, v->id, &text) || !text) continue;
        HOLDS(ompd_get_icv_string_from_scope, atol(text) == n || !strspn(text, "-0123456789"), "%ld is written %s", (long)n, text);
        free_block(text);
    }
}

static void check_version(struct suite *s, ompd_address_space_handle_t *space) {
    ompd_word_t n = 0;
    const char *text = NULL;
    about(s, "the address space");
    if (OK(ompd_get_omp_version, space, &n)) HOLDS(ompd_get_omp_version, n == s->facts->omp_version, "%ld, want %ld", (long)n, s->facts->omp_version);
    if (OK(ompd_get_omp_version_string, space, &text) && text) {
        char want[24];
        snprintf(want, sizeof want, "%ld", s->facts->omp_version);
        HOLDS(ompd_get_omp_version_string, strstr(text, want), "\"%s\" has no %s", text, want);
        free_block(text);
    }
}

void check_constants(struct suite *s, ompd_address_space_handle_t *space) {
    check_version(s, space);
    check_states(s, space);
    list_variables(s, space);
}

void check_variables_later(struct suite *s, ompd_address_space_handle_t *space) {
    for (int i = 0; i < variable_count; i++) {
        const struct variable *v = &variables[i];
        ompd_word_t n = 0;
        if (v->scope != ompd_scope_address_space) continue;
        expect_rc(s, ID_ompd_get_icv_from_scope, v->name, ompd_rc_unavailable, CALL(ompd_get_icv_from_scope, space, v->scope, v->id, &n));
    }
}

static void check_space(struct suite *s, ompd_address_space_handle_t *space, ompd_word_t version) {
    check_constants(s, space);
    const char *const *vars = NULL;
    if (OK(ompd_get_display_control_vars, space, &vars) && vars) {
        bool found = false, formed = true;
        for (int i = 0; vars[i]; i++) {
            found |= !strcasecmp(vars[i], s->facts->control_var);
            formed &= strchr(vars[i], '=') != NULL;
        }
        HOLDS(ompd_get_display_control_vars, found, "no %s", s->facts->control_var);
        HOLDS(ompd_get_display_control_vars, formed, "a line without =");
        OK(ompd_rel_display_control_vars, &vars);
    }
    check_texts(s, space);
    if (version < version_of(ID_ompd_get_device_thread_id_kinds)) return;
    ompd_thread_id_t *kinds = NULL;
    ompd_size_t *sizes = NULL;
    int count = 0;
    about(s, "kinds of thread identifiers");
    if (OK(ompd_get_device_thread_id_kinds, space, &kinds, &sizes, &count)) {
        HOLDS(ompd_get_device_thread_id_kinds, count == 2 && kinds[0] == 0 && kinds[1] == 1 && sizes[0] == 8 && sizes[1] == 8, "%d kinds", count);
        free_block(kinds);
        free_block(sizes);
    }
}

static ompd_word_t spoken; /* version of the interface */

/* check_schedule asserts that debuggers of OpenMP 5.0 find the chunk size after a comma. */
static void check_schedule(struct suite *s, ompd_task_handle_t *task) {
    const struct variable *v = find_variable("run-sched-var");
    const char *text = NULL;
    if (!v || spoken != 201811 || !OK(ompd_get_icv_string_from_scope, task, v->scope, v->id, &text) || !text) return;
    HOLDS(ompd_get_icv_string_from_scope, strchr(text, ','), "%s has no chunk size", text);
    free_block(text);
}

/* check_variable reads a variable of the thread, its region, its task or the address space, depending on its scope. */
static void check_variable(struct suite *s, const struct icv_fact *fact, ompd_address_space_handle_t *space, ompd_thread_handle_t *thread,
                           ompd_parallel_handle_t *region, ompd_task_handle_t *task) {
    const struct variable *v = find_variable(fact->name);
    ompd_word_t n = -1;
    if (!v) return;
    void *of = v->scope == ompd_scope_thread ? (void *)thread : v->scope == ompd_scope_parallel ? (void *)region
             : v->scope == ompd_scope_address_space ? (void *)space : (void *)task;
    int rc = CALL(ompd_get_icv_from_scope, of, v->scope, v->id, &n);
    if (spoken == 201811 && !strcmp(fact->name, "nthreads-var") && rc == ompd_rc_incomplete) rc = ompd_rc_ok; /* a list */
    if (expect_rc(s, ID_ompd_get_icv_from_scope, fact->name, ompd_rc_ok, rc))
        HOLDS(ompd_get_icv_from_scope, n == fact->value, "%s is %ld, want %ld", fact->name, (long)n, fact->value);
}

static ompd_word_t region_number(struct suite *s, const char *name, ompd_parallel_handle_t *region) {
    const struct variable *v = find_variable(name);
    ompd_word_t n = -1;
    if (v && OK(ompd_get_icv_from_scope, region, v->scope, v->id, &n)) return n;
    return -1;
}

static const struct thread_fact *find_fact(struct suite *s, unsigned long pthread) {
    for (int i = 0; i < s->facts->threads; i++)
        if (s->facts->thread[i].pthread == pthread) return &s->facts->thread[i];
    return NULL;
}

/* check_member checks member n of a thread's innermost region. */
static void check_member(struct suite *s, const struct thread_fact *t, ompd_parallel_handle_t *region, int n, ompd_thread_handle_t *self,
                         ompd_task_handle_t *task) {
    ompd_thread_handle_t *th = NULL;
    ompd_task_handle_t *implicit = NULL;
    int order = 1;
    if (OK(ompd_get_thread_in_parallel, region, n, &th)) {
        unsigned long pthread = 0;
        if (OK(ompd_get_thread_id, th, OMPD_THREAD_ID_PTHREAD, sizeof pthread, &pthread)) {
            const struct thread_fact *f = find_fact(s, pthread);
            HOLDS(ompd_get_thread_in_parallel, !f || f->level != t->level || f->number == n, "member %d has number %d", n, f->number);
        }
        if (OK(ompd_thread_handle_compare, th, self, &order))
            HOLDS(ompd_thread_handle_compare, (order == 0) == (n == t->number), "member %d compares %d", n, order);
        OK(ompd_rel_thread_handle, th);
    }
    if (!OK(ompd_get_task_in_parallel, region, n, &implicit)) return;
    ompd_parallel_handle_t *of = NULL;
    if (OK(ompd_get_task_parallel_handle, implicit, &of)) {
        if (OK(ompd_parallel_handle_compare, of, region, &order)) HOLDS(ompd_parallel_handle_compare, order == 0, "its implicit task %d belongs to another region", n);
        OK(ompd_rel_parallel_handle, of);
    }
    if (!t->in_task && OK(ompd_task_handle_compare, implicit, task, &order))
        HOLDS(ompd_task_handle_compare, (order == 0) == (n == t->number), "implicit task %d compares %d", n, order);
    OK(ompd_rel_task_handle, implicit);
}

/* check_regions walks from the innermost region outwards. */
static void check_regions(struct suite *s, const struct thread_fact *t, ompd_parallel_handle_t *region, ompd_thread_handle_t *self,
                          ompd_task_handle_t *task) {
    for (int level = t->level; level >= 0; level--) {
        ompd_parallel_handle_t *outer = NULL;
        ompd_thread_handle_t *none;
        ompd_task_handle_t *no_task;
        about(s, "thread %ld, level %d", t->lwp, level);
        ompd_word_t got = region_number(s, "levels-var", region), size = region_number(s, "team-size-var", region);
        HOLDS(ompd_get_icv_from_scope, got == level, "levels-var is %ld, want %d", (long)got, level);
        HOLDS(ompd_get_icv_from_scope, size == t->size[level], "team-size-var is %ld, want %d", (long)size, t->size[level]);
        for (int n = 0; n < t->size[level] && level == t->level; n++) check_member(s, t, region, n, self, task);
        RETURNS(ompd_rc_bad_input, ompd_get_thread_in_parallel, region, t->size[level], &none);
        RETURNS(ompd_rc_bad_input, ompd_get_task_in_parallel, region, t->size[level], &no_task);
        int rc = CALL(ompd_get_enclosing_parallel_handle, region, &outer);
        expect_rc(s, ID_ompd_get_enclosing_parallel_handle, "the enclosing region", level ? ompd_rc_ok : ompd_rc_unavailable, rc);
        if (rc == ompd_rc_ok && level) {
            int order = 0, reverse = 0;
            OK(ompd_parallel_handle_compare, region, outer, &order);
            OK(ompd_parallel_handle_compare, outer, region, &reverse);
            HOLDS(ompd_parallel_handle_compare, order && (order > 0) == (reverse < 0), "%d and %d for a region and its enclosing region", order, reverse);
        }
        OK(ompd_rel_parallel_handle, region);
        region = rc == ompd_rc_ok ? outer : NULL;
        if (!region) return;
    }
    if (region) OK(ompd_rel_parallel_handle, region);
}

/* cannot_track reports whether a library says that the runtime does not record states, or can never do it. */
static bool cannot_track(int rc) { return rc == ompd_rc_needs_state_tracking || rc == ompd_rc_unsupported; }

static void check_frame(struct suite *s, const struct thread_fact *t, ompd_task_handle_t *task) {
    ompd_address_t entry = {7, 7};
    if (OK(ompd_get_task_function, task, &entry))
        HOLDS(ompd_get_task_function, entry.segment == 0 && entry.address >= s->facts->text_low && entry.address < s->facts->text_high,
              "%#lx is not in the program", (unsigned long)entry.address);
    ompd_frame_info_t out = {{7, 7}, 7}, in = {{7, 7}, 7};
    if (!s->facts->tracking) {
        int rc = CALL(ompd_get_task_frame, task, &out, &in);
        expect_rc(s, ID_ompd_get_task_frame, "the frames", cannot_track(rc) ? rc : ompd_rc_needs_state_tracking, rc);
        return;
    }
    if (!OK(ompd_get_task_frame, task, &out, &in)) return;
    HOLDS(ompd_get_task_frame, out.frame_address.segment == 0 && in.frame_address.segment == 0, "segments");
    if (t->state == 0x11) return; /* the thread has returned from the task, and waits for the others */
    HOLDS(ompd_get_task_frame, out.frame_address.address, "thread %ld runs the task, which has no exit frame", t->lwp);
    ompd_word_t how = out.frame_flag & ~1L;
    HOLDS(ompd_get_task_frame, how == 0x10 || how == 0x20 || how == 0x30, "exit flag %#lx", (unsigned long)out.frame_flag);
}

/* check_tasks walks from the thread's current task to the task that generated it, and so on. */
static void check_tasks(struct suite *s, const struct thread_fact *t, ompd_task_handle_t *task) {
    int n = 0, rc = ompd_rc_ok;
    about(s, "tasks of thread %ld", t->lwp);
    if (t->level > 0) check_frame(s, t, task);
    ompd_task_handle_t *at = task;
    for (; rc == ompd_rc_ok && n < 32; n++) {
        ompd_task_handle_t *generating = NULL, *scheduling = NULL;
        int scheduled = CALL(ompd_get_scheduling_task_handle, at, &scheduling);
        HOLDS(ompd_get_scheduling_task_handle, scheduled == ompd_rc_ok || scheduled == ompd_rc_unavailable, "returns %d", scheduled);
        if (scheduled == ompd_rc_ok) OK(ompd_rel_task_handle, scheduling);
        rc = CALL(ompd_get_generating_task_handle, at, &generating);
        HOLDS(ompd_get_generating_task_handle, rc == ompd_rc_ok || rc == ompd_rc_unavailable, "returns %d", rc);
        if (at != task) OK(ompd_rel_task_handle, at);
        at = generating;
    }
    if (rc == ompd_rc_ok && at != task) OK(ompd_rel_task_handle, at);
    if (!t->in_task) HOLDS(ompd_get_generating_task_handle, n == t->level + 1, "%d tasks, want %d", n, t->level + 1);
}

static void check_data(struct suite *s, const struct thread_fact *t, void *thread, void *region, void *task) {
    void *const handles[] = {thread, region, task};
    const ompd_scope_t scopes[] = {ompd_scope_thread, ompd_scope_parallel, ompd_scope_task};
    for (int i = 0; i < 3; i++) {
        ompd_word_t value = 0;
        ompd_address_t pointer = {7, 7};
        if (!t->data[i] || !handles[i] || !OK(ompd_get_tool_data, handles[i], scopes[i], &value, &pointer)) continue;
        HOLDS(ompd_get_tool_data, (unsigned long)value == t->data[i] && pointer.address == t->data[i] && !pointer.segment,
              "scope %d: %#lx, want %#lx", scopes[i], (unsigned long)value, t->data[i]);
    }
}

/* check_ids asserts that both identifiers lead to the same handle and back. */
static ompd_thread_handle_t *check_ids(struct suite *s, ompd_address_space_handle_t *space, const struct thread_fact *t, ompd_word_t version) {
    ompd_thread_handle_t *by_lwp = NULL, *by_pthread = NULL;
    unsigned long id = 0;
    int short_lwp = (int)t->lwp, order = 1;
    about(s, "identifiers of thread %ld", t->lwp);
    if (!OK(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &by_lwp)) return NULL;
    if (OK(ompd_get_thread_handle, space, OMPD_THREAD_ID_PTHREAD, sizeof t->pthread, &t->pthread, &by_pthread)) {
        if (OK(ompd_thread_handle_compare, by_lwp, by_pthread, &order)) HOLDS(ompd_thread_handle_compare, order == 0, "%d for one thread", order);
        OK(ompd_rel_thread_handle, by_pthread);
    }
    if (OK(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof short_lwp, &short_lwp, &by_pthread)) OK(ompd_rel_thread_handle, by_pthread);
    if (OK(ompd_get_thread_id, by_lwp, OMPD_THREAD_ID_PTHREAD, sizeof id, &id)) HOLDS(ompd_get_thread_id, id == t->pthread, "%#lx, want %#lx", id, t->pthread);
    if (OK(ompd_get_thread_id, by_lwp, OMPD_THREAD_ID_LWP, sizeof id, &id)) HOLDS(ompd_get_thread_id, id == (unsigned long)t->lwp, "%ld, want %ld", id, t->lwp);
    if (version >= version_of(ID_ompd_get_device_from_thread)) {
        ompd_address_space_handle_t *device = NULL;
        if (OK(ompd_get_device_from_thread, by_lwp, &device)) HOLDS(ompd_get_device_from_thread, device == space, "%p, want %p", (void *)device, (void *)space);
    }
    return by_lwp;
}

/* check_wait asserts that all threads at one barrier have the same wait identifier. */
static void check_wait(struct suite *s, const struct thread_fact *t, ompd_wait_id_t wait) {
    static ompd_wait_id_t first[0x20];
    static int counted[0x20];
    int teams = 0;
    for (int i = 0; i < s->facts->threads; i++) teams += s->facts->thread[i].level == 1 && s->facts->thread[i].number == 0;
    if (t->level != 1 || teams != 1 || (t->state != 0x11 && t->state != 0x12 && t->state != 0x14)) return;
    if (counted[t->state]++) HOLDS(ompd_get_state, wait == first[t->state], "waits for %#lx, and others for %#lx", (long)wait, (long)first[t->state]);
    else first[t->state] = wait;
}

static void check_state(struct suite *s, const struct thread_fact *t, ompd_thread_handle_t *thread) {
    ompd_word_t state = -1;
    ompd_wait_id_t wait = 7;
    if (t->state < 0) return;
    about(s, "state of thread %ld", t->lwp);
    int rc = CALL(ompd_get_state, thread, &state, &wait);
    if (!s->facts->tracking && cannot_track(rc)) { /* without a stack, the library does not know it */
        expect_rc(s, ID_ompd_get_state, "the state", rc, rc);
        return;
    }
    if (!expect_rc(s, ID_ompd_get_state, "the state", ompd_rc_ok, rc)) return;
    HOLDS(ompd_get_state, state == t->state, "%#lx, want %#x", (long)state, t->state);
    HOLDS(ompd_get_state, state != 0x41 || wait, "waits for no lock"); /* 0x41: waits for a lock */
    check_wait(s, t, wait);
}

static void check_thread(struct suite *s, ompd_address_space_handle_t *space, const struct thread_fact *t, ompd_word_t version) {
    ompd_thread_handle_t *thread = NULL;
    ompd_parallel_handle_t *region = NULL;
    ompd_task_handle_t *task = NULL;
    about(s, "thread %ld", t->lwp);
    if (!t->openmp) {
        RETURNS(ompd_rc_unavailable, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        return;
    }
    if (!(thread = check_ids(s, space, t, version))) return;
    check_state(s, t, thread);
    about(s, "thread %ld", t->lwp);
    if (t->idle) {
        RETURNS(ompd_rc_unavailable, ompd_get_curr_parallel_handle, thread, &region);
        RETURNS(ompd_rc_unavailable, ompd_get_curr_task_handle, thread, &task);
    } else if (OK(ompd_get_curr_parallel_handle, thread, &region)) {
        if (OK(ompd_get_curr_task_handle, thread, &task)) {
            for (int i = 0; i < t->icvs; i++) check_variable(s, &t->icv[i], space, thread, region, task);
            check_schedule(s, task);
            check_data(s, t, thread, region, task);
            check_tasks(s, t, task);
        }
        check_regions(s, t, region, thread, task);
        if (task) OK(ompd_rel_task_handle, task);
    }
    OK(ompd_rel_thread_handle, thread);
}

void check_program(struct suite *s, ompd_word_t version) {
    ompd_address_space_handle_t *space = NULL;
    about(s, "the program");
    if (!OK(ompd_initialize, version, &callbacks)) version = 201811; /* every library supports it */
    if (version == 201811) OK(ompd_initialize, version, &callbacks);
    spoken = version;
    if (OK(ompd_process_initialize, context(0), &space)) {
        long before = s->tool->blocks;
        check_space(s, space, version);
        for (int i = 0; i < s->facts->threads; i++) check_thread(s, space, &s->facts->thread[i], version);
        about(s, "memory");
        HOLDS(ompd_finalize, s->tool->blocks == before, "%ld blocks are left", s->tool->blocks - before);
        OK(ompd_rel_address_space_handle, space);
    }
    HOLDS(ompd_finalize, s->tool->blocks == 0 && s->tool->foreign == 0, "%ld blocks are left, %ld foreign pointers were freed", s->tool->blocks, s->tool->foreign);
    OK(ompd_finalize);
}
