/* faults.c: callbacks that fail or lie, and calls from several threads at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

/* expect_error asserts that a routine whose callback fails returns an error. One whose callback lies must only not
 * crash. */
static void expect_error(struct suite *s, enum routine r, const char *what, enum fault fault, int rc) {
    bool said = rc == ompd_rc_callback_error || rc == ompd_rc_error || rc == ompd_rc_nomem || rc == ompd_rc_device_read_error ||
                rc == ompd_rc_incompatible || rc == ompd_rc_unavailable;
    if (fault == FAIL) expect(s, r, said, "an error", "%s: %s returns %d", "a callback fails", what, rc);
    else expect(s, r, rc != CRASHED, "survived", "a callback lies: %s", what);
}
#define SPOILT(fault, f, ...) expect_error(s, ID_##f, #f, fault, CALL(f, __VA_ARGS__))

/* begin_fault and end_fault enclose the time in which one callback is faulty. */
static void begin_fault(struct suite *s, enum fault *which, enum fault fault, long after) {
    *which = fault;
    s->tool->fail_after = after;
}
static void end_fault(enum fault *which) { *which = NO_FAULT; }

/* check_initialization calls process_initialize with each callback faulty in turn. */
static void check_initialization(struct suite *s) {
    enum fault *const which[] = {&s->tool->alloc, &s->tool->sizes, &s->tool->symbol, &s->tool->read, &s->tool->convert};
    const char *const names[] = {"alloc_memory", "sizeof_type", "symbol_addr_lookup", "read_memory", "device_to_host"};
    for (int i = 0; i < 5; i++)
        for (int fault = FAIL; fault <= LIE; fault++) {
            ompd_address_space_handle_t *space = NULL;
            about(s, "%s %s in ompd_process_initialize", names[i], fault == FAIL ? "fails" : "lies");
            if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
            begin_fault(s, which[i], (enum fault)fault, 0);
            int rc = CALL(ompd_process_initialize, context(0), &space);
            end_fault(which[i]);
            expect_error(s, ID_ompd_process_initialize, names[i], (enum fault)fault, rc);
            if (rc == ompd_rc_ok) CALL(ompd_rel_address_space_handle, space);
            CALL(ompd_finalize);
        }
}

/* ask_thread asks all questions about one thread and returns the number of answers. */
static int ask_thread(struct suite *s, ompd_address_space_handle_t *space, const struct thread_fact *t) {
    ompd_thread_handle_t *thread = NULL;
    ompd_parallel_handle_t *region = NULL;
    ompd_task_handle_t *task = NULL;
    ompd_word_t state;
    ompd_wait_id_t wait;
    ompd_address_t entry;
    int n = 0;
    if (CALL(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread) != ompd_rc_ok) return 0;
    n += CALL(ompd_get_state, thread, &state, &wait) == ompd_rc_ok;
    if (CALL(ompd_get_curr_parallel_handle, thread, &region) == ompd_rc_ok) {
        ompd_parallel_handle_t *outer;
        if (CALL(ompd_get_enclosing_parallel_handle, region, &outer) == ompd_rc_ok) CALL(ompd_rel_parallel_handle, outer);
        CALL(ompd_rel_parallel_handle, region), n++;
    }
    if (CALL(ompd_get_curr_task_handle, thread, &task) == ompd_rc_ok) {
        n += CALL(ompd_get_task_function, task, &entry) == ompd_rc_ok;
        CALL(ompd_rel_task_handle, task), n++;
    }
    CALL(ompd_rel_thread_handle, thread);
    return n;
}

/* check_queries asks all questions with reads that fail after some that succeed. */
static void check_queries(struct suite *s) {
    ompd_address_space_handle_t *space = NULL;
    about(s, "reads that go wrong");
    if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
    if (OK(ompd_process_initialize, context(0), &space)) {
        long before = s->tool->blocks;
        const struct thread_fact *t = &s->facts->thread[0];
        int whole = ask_thread(s, space, t);
        for (int fault = FAIL; fault <= LIE; fault++)
            for (long after = 0; after < 24; after += fault == FAIL ? 1 : 4) {
                begin_fault(s, &s->tool->read, (enum fault)fault, after);
                ask_thread(s, space, t);
                end_fault(&s->tool->read);
            }
        for (long after = 0; after < 8; after++) {
            begin_fault(s, &s->tool->alloc, FAIL, after);
            ask_thread(s, space, t);
            end_fault(&s->tool->alloc);
        }
        HOLDS(ompd_get_thread_handle, s->tool->blocks == before, "%ld blocks are left", s->tool->blocks - before);
        int again = ask_thread(s, space, t);
        HOLDS(ompd_get_thread_handle, again == whole, "%d answers afterwards, %d before", again, whole);
        ompd_thread_handle_t *thread;
        begin_fault(s, &s->tool->read, FAIL, 0);
        SPOILT(FAIL, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        end_fault(&s->tool->read);
        begin_fault(s, &s->tool->alloc, FAIL, 0);
        SPOILT(FAIL, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        end_fault(&s->tool->alloc);
        s->tool->call_back = true;
        s->tool->called_back = MISSING;
        int rc = CALL(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        s->tool->call_back = false;
        HOLDS(ompd_get_thread_handle, rc == ompd_rc_ok, "returns %d when a callback calls the library", rc);
        HOLDS(ompd_process_initialize, s->tool->called_back != ompd_rc_ok, "succeeds in a callback");
        if (rc == ompd_rc_ok) CALL(ompd_rel_thread_handle, thread);
        CALL(ompd_rel_address_space_handle, space);
    }
    CALL(ompd_finalize);
}

void check_faults(struct suite *s) {
    check_initialization(s);
    check_queries(s);
    about(s, "memory after faults");
    HOLDS(ompd_finalize, s->tool->blocks == 0 && !s->tool->foreign, "%ld blocks are left, %ld foreign pointers were freed", s->tool->blocks, s->tool->foreign);
    s->tool->blocks = 0;
}

/* Several threads of the tool, with one address space for every two of them. */
enum { TOOL_THREADS = 4, ROUNDS = 5 };
static ompd_address_space_handle_t *spaces[2];
static int expected[64], wrong;

/* worker is one of these threads. */
struct worker {
    const struct suite *suite;
    int number;
};

static void *ask_all(void *arg) {
    const struct worker *w = arg;
    struct suite *s = &(struct suite){0};
    suite_enter(s, w->suite);
    about(s, "tool thread %d", w->number);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < s->facts->threads; i++)
            if (ask_thread(s, spaces[w->number % 2], &s->facts->thread[i]) != expected[i]) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    return NULL;
}

void check_threads(struct suite *s) {
    pthread_t threads[TOOL_THREADS];
    struct worker workers[TOOL_THREADS];
    about(s, "several threads of the tool");
    if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
    if (OK(ompd_process_initialize, context(0), &spaces[0]) && OK(ompd_process_initialize, context(1), &spaces[1])) {
        for (int i = 0; i < s->facts->threads; i++) expected[i] = ask_thread(s, spaces[0], &s->facts->thread[i]);
        for (int i = 0; i < TOOL_THREADS; i++) {
            workers[i] = (struct worker){s, i};
            pthread_create(&threads[i], NULL, ask_all, &workers[i]);
        }
        for (int i = 0; i < TOOL_THREADS; i++) pthread_join(threads[i], NULL);
        HOLDS(ompd_get_thread_handle, wrong == 0, "%d answers differ", wrong);
        OK(ompd_rel_address_space_handle, spaces[0]);
        OK(ompd_rel_address_space_handle, spaces[1]);
    }
    HOLDS(ompd_finalize, s->tool->blocks == 0, "%ld blocks are left", s->tool->blocks);
    OK(ompd_finalize);
}
