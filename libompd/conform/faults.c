/* faults.c: callbacks that fail or lie, and several threads at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

/* spoilt asserts that routines whose callback fails say so. LIE is only to be survived. */
static void spoilt(enum routine r, const char *what, enum fault fault, int rc) {
    bool said = rc == ompd_rc_callback_error || rc == ompd_rc_error || rc == ompd_rc_nomem || rc == ompd_rc_device_read_error ||
                rc == ompd_rc_incompatible || rc == ompd_rc_unavailable;
    if (fault == FAIL) expect(r, said, "an error", "%s: %s returns %d", "a callback fails", what, rc);
    else expect(r, rc != CRASHED, "survived", "a callback lies: %s", what);
}
#define SPOILT(fault, f, ...) spoilt(ID_##f, #f, fault, CALL(f, __VA_ARGS__))

/* begin_faults and end_faults bound the time in which one callback is spoilt. */
static void begin_fault(enum fault *which, enum fault fault, long after) {
    *which = fault;
    tool.fail_after = after;
}
static void end_fault(enum fault *which) { *which = NO_FAULT; }

/* initialization tries process_initialize with each callback spoilt. */
static void initialization(void) {
    enum fault *const which[] = {&tool.alloc, &tool.sizes, &tool.symbol, &tool.read, &tool.convert};
    const char *const names[] = {"alloc_memory", "sizeof_type", "symbol_addr_lookup", "read_memory", "device_to_host"};
    for (int i = 0; i < 5; i++)
        for (int fault = FAIL; fault <= LIE; fault++) {
            ompd_address_space_handle_t *space = NULL;
            about("%s %s in ompd_process_initialize", names[i], fault == FAIL ? "fails" : "lies");
            if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
            begin_fault(which[i], (enum fault)fault, 0);
            int rc = CALL(ompd_process_initialize, context(0), &space);
            end_fault(which[i]);
            spoilt(ID_ompd_process_initialize, names[i], (enum fault)fault, rc);
            if (rc == ompd_rc_ok) CALL(ompd_rel_address_space_handle, space);
            CALL(ompd_finalize);
        }
}

/* one_thread asks everything about one thread and counts what it gets. */
static int one_thread(ompd_address_space_handle_t *space, const struct thread_fact *t) {
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

/* questions asks everything with reads that go wrong after some that do not. */
static void questions(void) {
    ompd_address_space_handle_t *space = NULL;
    about("reads that go wrong");
    if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
    if (OK(ompd_process_initialize, context(0), &space)) {
        long before = tool.blocks;
        const struct thread_fact *t = &facts.thread[0];
        int whole = one_thread(space, t);
        for (int fault = FAIL; fault <= LIE; fault++)
            for (long after = 0; after < 24; after += fault == FAIL ? 1 : 4) {
                begin_fault(&tool.read, (enum fault)fault, after);
                one_thread(space, t);
                end_fault(&tool.read);
            }
        for (long after = 0; after < 8; after++) {
            begin_fault(&tool.alloc, FAIL, after);
            one_thread(space, t);
            end_fault(&tool.alloc);
        }
        HOLDS(ompd_get_thread_handle, tool.blocks == before, "%ld blocks are left", tool.blocks - before);
        int again = one_thread(space, t);
        HOLDS(ompd_get_thread_handle, again == whole, "%d answers afterwards, %d before", again, whole);
        ompd_thread_handle_t *thread;
        begin_fault(&tool.read, FAIL, 0);
        SPOILT(FAIL, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        end_fault(&tool.read);
        begin_fault(&tool.alloc, FAIL, 0);
        SPOILT(FAIL, ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        end_fault(&tool.alloc);
        tool.call_back = true;
        tool.called_back = MISSING;
        int rc = CALL(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread);
        tool.call_back = false;
        HOLDS(ompd_get_thread_handle, rc == ompd_rc_ok, "returns %d when a callback calls the library", rc);
        HOLDS(ompd_process_initialize, tool.called_back != ompd_rc_ok, "succeeds in a callback");
        if (rc == ompd_rc_ok) CALL(ompd_rel_thread_handle, thread);
        CALL(ompd_rel_address_space_handle, space);
    }
    CALL(ompd_finalize);
}

void check_faults(void) {
    initialization();
    questions();
    about("memory after faults");
    HOLDS(ompd_finalize, tool.blocks == 0 && !tool.foreign, "%ld blocks are left, %ld foreign pointers were freed", tool.blocks, tool.foreign);
    tool.blocks = 0;
}

/* Several threads of the tool, with an address space for every two of them. */
enum { TOOL_THREADS = 4, ROUNDS = 5 };
static ompd_address_space_handle_t *spaces[2];
static int expected[64], wrong;

static void *work(void *arg) {
    long me = (long)arg;
    about("tool thread %ld", me);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < facts.threads; i++)
            if (one_thread(spaces[me % 2], &facts.thread[i]) != expected[i]) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    return NULL;
}

void check_threads(void) {
    pthread_t threads[TOOL_THREADS];
    about("several threads of the tool");
    if (CALL(ompd_initialize, 201811, &callbacks) != ompd_rc_ok) return;
    if (OK(ompd_process_initialize, context(0), &spaces[0]) && OK(ompd_process_initialize, context(1), &spaces[1])) {
        for (int i = 0; i < facts.threads; i++) expected[i] = one_thread(spaces[0], &facts.thread[i]);
        for (long i = 0; i < TOOL_THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < TOOL_THREADS; i++) pthread_join(threads[i], NULL);
        HOLDS(ompd_get_thread_handle, wrong == 0, "%d answers differ", wrong);
        OK(ompd_rel_address_space_handle, spaces[0]);
        OK(ompd_rel_address_space_handle, spaces[1]);
    }
    HOLDS(ompd_finalize, tool.blocks == 0, "%ld blocks are left", tool.blocks);
    OK(ompd_finalize);
}
