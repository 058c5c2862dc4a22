//go:build ignore
/* gomp_sync.c: waits, locks and worksharing of GNU's runtime (see gomp.c). */
#include "gomp.h"
#include "tables.h"

/* RECORD_WAIT records the begin and the end of a wait around a call. */
#define RECORD_WAIT(kind, call)                                                  \
    do {                                                                         \
        struct frame *f = gomp_frame();                                          \
        EMIT(sync_region, kind, ompt_scope_begin, &f->parallel, &f->task, HERE); \
        call;                                                                    \
        EMIT(sync_region, kind, ompt_scope_end, &f->parallel, &f->task, HERE);   \
    } while (0)

/* GCC calls this for explicit barriers and for those at the end of constructs, so the kind is only "barrier". */
exported void GOMP_barrier(void) {
    REAL(GOMP_barrier);
    if (!gomp_ready())
        real();
    else
        RECORD_WAIT(ompt_sync_region_barrier, real());
}

exported bool GOMP_barrier_cancel(void) {
    REAL(GOMP_barrier_cancel);
    bool answer;
    if (!gomp_ready()) return real();
    RECORD_WAIT(ompt_sync_region_barrier, answer = real());
    return answer;
}

exported void GOMP_taskwait(void) {
    REAL(GOMP_taskwait);
    if (!gomp_ready())
        real();
    else
        RECORD_WAIT(ompt_sync_region_taskwait, real());
}

exported void GOMP_taskgroup_start(void) {
    REAL(GOMP_taskgroup_start);
    if (gomp_ready()) {
        struct frame *f = gomp_frame();
        EMIT(sync_region, ompt_sync_region_taskgroup, ompt_scope_begin, &f->parallel, &f->task, HERE);
    }
    real();
}

exported void GOMP_taskgroup_end(void) {
    REAL(GOMP_taskgroup_end);
    if (!gomp_ready()) {
        real();
        return;
    }
    struct frame *f = gomp_frame();
    EMIT(sync_region_wait, ompt_sync_region_taskgroup, ompt_scope_begin, &f->parallel, &f->task, HERE);
    real();
    EMIT(sync_region_wait, ompt_sync_region_taskgroup, ompt_scope_end, &f->parallel, &f->task, HERE);
    EMIT(sync_region, ompt_sync_region_taskgroup, ompt_scope_end, &f->parallel, &f->task, HERE);
}

exported bool GOMP_cancel(int which, bool cancels) {
    REAL(GOMP_cancel);
    /* 1 parallel, 2 for, 4 sections, 8 taskgroup, as in OMPT */
    if (cancels && gomp_ready()) EMIT(cancel, &gomp_frame()->task, which & 15, HERE);
    return real(which, cancels);
}

/* ENTER and LEAVE define the two functions of a construct with mutual exclusion. A release is recorded before it is
 * made, so that it precedes the next acquisition. The wait id of a construct without a variable is the address of the
 * runtime's function. */
#define ENTER(name, kind, parameter, argument, id)             \
    exported void name(parameter) {                            \
        REAL(name);                                            \
        if (!gomp_ready()) {                                   \
            real(argument);                                    \
            return;                                            \
        }                                                      \
        gomp_frame();                                          \
        EMIT(mutex_acquire, kind, 0, 0, (uint64_t)(id), HERE); \
        real(argument);                                        \
        EMIT(mutex_acquired, kind, (uint64_t)(id), HERE);      \
    }
#define LEAVE(name, kind, parameter, argument, id)                          \
    exported void name(parameter) {                                         \
        REAL(name);                                                         \
        if (gomp_ready()) EMIT(mutex_released, kind, (uint64_t)(id), HERE); \
        real(argument);                                                     \
    }

static uint64_t function_id(const char *name, void **found) {
    if (*found == NULL) *found = gomp_find(name);
    return (uint64_t)*found;
}
static void *critical_function, *atomic_function, *ordered_function;
#define CRITICAL function_id("GOMP_critical_start", &critical_function)
#define ATOMIC function_id("GOMP_atomic_start", &atomic_function)
#define ORDERED function_id("GOMP_ordered_start", &ordered_function)

ENTER(GOMP_critical_start, ompt_mutex_critical, void, , CRITICAL)
LEAVE(GOMP_critical_end, ompt_mutex_critical, void, , CRITICAL)
ENTER(GOMP_critical_name_start, ompt_mutex_critical, void **variable, variable, variable)
LEAVE(GOMP_critical_name_end, ompt_mutex_critical, void **variable, variable, variable)
ENTER(GOMP_atomic_start, ompt_mutex_atomic, void, , ATOMIC)
LEAVE(GOMP_atomic_end, ompt_mutex_atomic, void, , ATOMIC)
ENTER(GOMP_ordered_start, ompt_mutex_ordered, void, , ORDERED)
LEAVE(GOMP_ordered_end, ompt_mutex_ordered, void, , ORDERED)

static void lock_acquired(ompt_mutex_t kind, uint64_t id, const void *code) { EMIT(mutex_acquired, kind, id, code); }
static void lock_released(ompt_mutex_t kind, uint64_t id, const void *code) { EMIT(mutex_released, kind, id, code); }

/* held_find returns the record of a lock that the calling thread holds, NULL if it does not hold it. */
static struct recorder_record *held_find(uint64_t wait_id) {
    struct recorder_ring *ring = recorder_mine;
    if (ring == NULL) return NULL;
    uint32_t n = ring->held < RECORDER_HELD_MAX ? ring->held : RECORDER_HELD_MAX;
    while (n > 0 && ring->held_table[n - 1].b != wait_id) n--;
    return n == 0 ? NULL : &ring->held_table[n - 1];
}

/* nest_acquired records the first or a further acquisition of a lock. The value of the lock's record in held_table
 * counts the further ones. */
static void nest_acquired(ompt_mutex_t kind, uint64_t id, const void *code) {
    struct recorder_record *held = held_find(id);
    if (held == NULL) {
        EMIT(mutex_acquired, kind, id, code);
    } else {
        EMIT(nest_lock, ompt_scope_begin, id, code);
        held->value++;
    }
}

static void nest_released(ompt_mutex_t kind, uint64_t id, const void *code) {
    struct recorder_record *held = held_find(id);
    if (held == NULL || held->value == 0) {
        EMIT(mutex_released, kind, id, code);
    } else {
        EMIT(nest_lock, ompt_scope_end, id, code);
        held->value--;
    }
}

/* LOCK defines the routines of one kind of lock for C, and with the suffix _ for Fortran. */
#define LOCK(kind, type, suffix, acquired, released)                      \
    exported void omp_init_##type##suffix(void *lock) {                   \
        REAL(omp_init_##type##suffix);                                    \
        if (!gomp_ready()) {                                              \
            real(lock);                                                   \
            return;                                                       \
        }                                                                 \
        real(lock);                                                       \
        gomp_frame();                                                     \
        EMIT(lock_init, kind, 0, 0, (uint64_t)lock, HERE);                \
    }                                                                     \
    exported void omp_destroy_##type##suffix(void *lock) {                \
        REAL(omp_destroy_##type##suffix);                                 \
        if (gomp_ready()) EMIT(lock_destroy, kind, (uint64_t)lock, HERE); \
        real(lock);                                                       \
    }                                                                     \
    exported void omp_set_##type##suffix(void *lock) {                    \
        REAL(omp_set_##type##suffix);                                     \
        if (!gomp_ready()) {                                              \
            real(lock);                                                   \
            return;                                                       \
        }                                                                 \
        gomp_frame();                                                     \
        EMIT(mutex_acquire, kind, 0, 0, (uint64_t)lock, HERE);            \
        real(lock);                                                       \
        acquired(kind, (uint64_t)lock, HERE);                             \
    }                                                                     \
    exported void omp_unset_##type##suffix(void *lock) {                  \
        REAL(omp_unset_##type##suffix);                                   \
        if (gomp_ready()) released(kind, (uint64_t)lock, HERE);           \
        real(lock);                                                       \
    }                                                                     \
    exported int omp_test_##type##suffix(void *lock) {                    \
        REAL(omp_test_##type##suffix);                                    \
        if (!gomp_ready()) return real(lock);                             \
        gomp_frame();                                                     \
        EMIT(mutex_acquire, kind + 1, 0, 0, (uint64_t)lock, HERE);        \
        int answer = real(lock);                                          \
        if (answer != 0) acquired(kind + 1, (uint64_t)lock, HERE);        \
        return answer;                                                    \
    }

LOCK(ompt_mutex_lock, lock, , lock_acquired, lock_released)
LOCK(ompt_mutex_lock, lock, _, lock_acquired, lock_released)
LOCK(ompt_mutex_nest_lock, nest_lock, , nest_acquired, nest_released)
LOCK(ompt_mutex_nest_lock, nest_lock, _, nest_acquired, nest_released)

static void work_begin(int kind, const void *code) {
    struct frame *f = gomp_frame();
    f->work = kind;
    EMIT(work, kind, ompt_scope_begin, &f->parallel, &f->task, 0, code);
}

static void work_end(const void *code) {
    struct frame *f = gomp_frame();
    if (f->work != 0) EMIT(work, f->work, ompt_scope_end, &f->parallel, &f->task, 0, code);
    f->work = 0;
}

/* START defines a function that begins a worksharing construct. Such a function has up to ten arguments, all of them
 * integers in general registers or pointers. START passes ten on; the function ignores those that it lacks. */
#define START(name, kind)                                                                                \
    exported long name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { \
        REAL(name);                                                                                      \
        if (gomp_ready()) work_begin(kind, HERE);                                                        \
        return real(a, b, c, d, e, f, g, h, i, j);                                                       \
    }
/* ACROSS defines a function that starts doacross loops: their iterations wait for each other. Its first argument is the
 * number of loops. */
#define ACROSS(name, kind)                                                                               \
    exported long name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { \
        REAL(name);                                                                                      \
        if (gomp_ready()) {                                                                              \
            work_begin(kind, HERE);                                                                      \
            gomp_frame()->dimensions = a;                                                                \
        }                                                                                                \
        return real(a, b, c, d, e, f, g, h, i, j);                                                       \
    }
#define STARTS(prefix)                                   \
    START(prefix##static_start, ompt_work_loop_static)   \
    START(prefix##dynamic_start, ompt_work_loop_dynamic) \
    START(prefix##guided_start, ompt_work_loop_guided)   \
    START(prefix##runtime_start, ompt_work_loop_other)

STARTS(GOMP_loop_)
STARTS(GOMP_loop_ordered_)
STARTS(GOMP_loop_ull_)
STARTS(GOMP_loop_ull_ordered_)
START(GOMP_loop_nonmonotonic_dynamic_start, ompt_work_loop_dynamic)
START(GOMP_loop_nonmonotonic_guided_start, ompt_work_loop_guided)
START(GOMP_loop_nonmonotonic_runtime_start, ompt_work_loop_other)
START(GOMP_loop_maybe_nonmonotonic_runtime_start, ompt_work_loop_other)
START(GOMP_loop_ull_nonmonotonic_dynamic_start, ompt_work_loop_dynamic)
START(GOMP_loop_ull_nonmonotonic_guided_start, ompt_work_loop_guided)
START(GOMP_loop_ull_nonmonotonic_runtime_start, ompt_work_loop_other)
START(GOMP_loop_ull_maybe_nonmonotonic_runtime_start, ompt_work_loop_other)
START(GOMP_loop_start, ompt_work_loop_other)
START(GOMP_loop_ordered_start, ompt_work_loop_other)
START(GOMP_loop_ull_start, ompt_work_loop_other)
START(GOMP_loop_ull_ordered_start, ompt_work_loop_other)
ACROSS(GOMP_loop_doacross_static_start, ompt_work_loop_static)
ACROSS(GOMP_loop_doacross_dynamic_start, ompt_work_loop_dynamic)
ACROSS(GOMP_loop_doacross_guided_start, ompt_work_loop_guided)
ACROSS(GOMP_loop_doacross_runtime_start, ompt_work_loop_other)
ACROSS(GOMP_loop_doacross_start, ompt_work_loop_other)
ACROSS(GOMP_loop_ull_doacross_static_start, ompt_work_loop_static)
ACROSS(GOMP_loop_ull_doacross_dynamic_start, ompt_work_loop_dynamic)
ACROSS(GOMP_loop_ull_doacross_guided_start, ompt_work_loop_guided)
ACROSS(GOMP_loop_ull_doacross_runtime_start, ompt_work_loop_other)
ACROSS(GOMP_loop_ull_doacross_start, ompt_work_loop_other)
START(GOMP_sections_start, ompt_work_sections)
START(GOMP_sections2_start, ompt_work_sections)

/* END defines a function that ends a worksharing construct with a barrier, END_NOWAIT one without. */
#define END(name)                                                                  \
    exported bool name(void) {                                                     \
        REAL(name);                                                                \
        bool answer;                                                               \
        if (!gomp_ready()) return real();                                          \
        work_end(HERE);                                                            \
        RECORD_WAIT(ompt_sync_region_barrier_implicit_workshare, answer = real()); \
        return answer;                                                             \
    }
#define END_NOWAIT(name)       \
    exported void name(void) { \
        REAL(name);            \
        if (!gomp_ready()) {   \
            real();            \
            return;            \
        }                      \
        real();                \
        work_end(HERE);        \
    }

END(GOMP_loop_end)
END(GOMP_loop_end_cancel)
END(GOMP_sections_end)
END(GOMP_sections_end_cancel)
END_NOWAIT(GOMP_loop_end_nowait)
END_NOWAIT(GOMP_sections_end_nowait)

/* A single construct has no call at its end, except that of its barrier. */
static void record_single(bool executor, const void *code) {
    struct frame *f = gomp_frame();
    int kind = executor ? ompt_work_single_executor : ompt_work_single_other;
    EMIT(work, kind, ompt_scope_beginend, &f->parallel, &f->task, 1, code);
}

exported bool GOMP_single_start(void) {
    REAL(GOMP_single_start);
    if (!gomp_ready()) return real();
    bool answer = real();
    record_single(answer, HERE);
    return answer;
}

exported void *GOMP_single_copy_start(void) {
    REAL(GOMP_single_copy_start);
    void *answer;
    if (!gomp_ready()) return real();
    RECORD_WAIT(ompt_sync_region_barrier_implicit_workshare, answer = real());
    record_single(answer == NULL, HERE);
    return answer;
}

exported void GOMP_single_copy_end(void *data) {
    REAL(GOMP_single_copy_end);
    if (!gomp_ready())
        real(data);
    else
        RECORD_WAIT(ompt_sync_region_barrier_implicit_workshare, real(data));
}
