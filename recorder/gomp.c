//go:build ignore
/* gomp.c: regions and tasks of GNU's runtime, which does not support tools. The library is preloaded (LD_PRELOAD), so
 * the calls that the compiler generates for constructs reach it first. It records the events that OMPT would report,
 * and calls the runtime.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gomp.h"

uint32_t gomp_state;

/* THREAD_LOCAL declares a variable of the thread that is accessed without a call: a frame of the dynamic linker's
 * functions on the stack would be mistaken for the program's code. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

THREAD_LOCAL struct frame *innermost;
/* outermost is the initial task of a root thread. In a worker it is its last implicit task until the next one begins,
 * because the worker may still execute tasks at the region's end. */
THREAD_LOCAL struct frame outermost;
THREAD_LOCAL bool waits; /* the worker is in the barrier at the end of a region */
THREAD_LOCAL ompt_data_t thread;

static int find_library(struct dl_phdr_info *info, size_t size, void *found) {
    const char *base = strrchr(info->dlpi_name, '/');
    (void)size;
    if (base == NULL || strncmp(base + 1, "libgomp", 7) != 0) return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

void *gomp_find(const char *name) {
    void *real = dlsym(RTLD_NEXT, name), *library = NULL;
    if (real == NULL && dl_iterate_phdr(find_library, &library) != 0) real = dlsym(library, name);
    if (real == NULL) {
        fprintf(stderr, "libompd-recorder: the OpenMP runtime of this program has no %s; run it without the recorder\n",
                name);
        abort();
    }
    return real;
}

/* is_disabled reports whether OMP_TOOL disables tools. Runtimes that support tools read it themselves. */
static bool is_disabled(void) {
    const char *set = getenv("OMP_TOOL");
    return set != NULL && strcasecmp(set, "disabled") == 0;
}

/* warn_next warns that the next tool gets no events: the recorder makes its own, and no runtime gives it a lookup. */
static void warn_next(void) {
    const char *next = getenv("OMPD_RECORDER_NEXT");
    if (next != NULL && *next != 0)
        fprintf(stderr, "libompd-recorder: OMPD_RECORDER_NEXT is ignored: GNU's runtime supports no tools\n");
}

bool gomp_start(void) {
    Dl_info info = {0};
    void *real = gomp_find("GOMP_parallel"), *library = NULL;
    char name[sizeof recorder_head->runtime];
    if (dladdr(real, &info) != 0) library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    bool other = library != NULL && dlsym(library, "__kmpc_fork_call") != NULL;
    snprintf(name, sizeof name, "GNU OpenMP runtime %s", info.dli_fname == NULL ? "" : info.dli_fname);
    if (!other && !is_disabled() && recorder_start(RECORDER_SOURCE_LIBGOMP, 0, name)) {
        __atomic_store_n(&gomp_state, GOMP_RECORDS, __ATOMIC_RELEASE);
        warn_next();
        return true;
    }
    __atomic_store_n(&gomp_state, GOMP_PASSES, __ATOMIC_RELEASE);
    return false;
}

__attribute__((noinline)) static struct frame *begin_root(void) {
    innermost = &outermost;
    EMIT(thread_begin, ompt_thread_initial, &thread);
    EMIT(implicit_task, ompt_scope_begin, &outermost.parallel, &outermost.task, 1, 1, ompt_task_initial);
    return innermost;
}

struct frame *gomp_frame(void) { return __builtin_expect(innermost != NULL, 1) ? innermost : begin_root(); }

/* team is one region, on the stack of the thread that forks it. The first word is for GNU's runtime, which takes the
 * team for the program's data and reads that word. */
struct team {
    void *first;
    void (*function)(void *);
    void *data;
    void *owner; /* address of the forking thread's variable: it distinguishes that thread from the others */
    ompt_data_t parallel;
    struct frame frame; /* of the forking thread */
    int work;           /* ompt_work_t of a combined construct, or 0 */
    uint64_t count;
    unsigned size;
};

extern int omp_get_thread_num(void), omp_get_num_threads(void);

/* implicit_ends records the end of the barrier at a region's end, and of the implicit task that waited there. It reads
 * the clock once for both. */
inlined void implicit_ends(struct frame *f, unsigned size) {
    if (__builtin_expect((recorder_head->events & CODE(ompt_callback_sync_region)) != 0, 1)) {
        on_sync_region(ompt_sync_region_barrier_implicit_parallel, ompt_scope_end, &f->parallel, &f->task, NULL);
        on_implicit_task_at_once(ompt_scope_end, &f->parallel, &f->task, size, 0, ompt_task_implicit);
    } else {
        on_implicit_task(ompt_scope_end, &f->parallel, &f->task, size, 0, ompt_task_implicit);
    }
}

/* implicit_begins starts an implicit task. It also ends a worker's last one, because the end of a region is not
 * observable in a worker. */
inlined void implicit_begins(struct frame *f, struct frame *outer, ompt_data_t parallel, unsigned size,
                             unsigned index) {
    bool returns = waits && f == &outermost;
    if (returns) {
        waits = false;
        implicit_ends(f, 0);
    }
    *f = (struct frame){.outer = outer, .parallel = parallel};
    innermost = f;
    if (returns)
        on_implicit_task_at_once(ompt_scope_begin, &f->parallel, &f->task, size, index, ompt_task_implicit);
    else
        on_implicit_task(ompt_scope_begin, &f->parallel, &f->task, size, index, ompt_task_implicit);
}

/* run_member is executed by each thread of a region instead of the outlined function. */
static void run_member(void *p) {
    static __typeof__(&omp_get_thread_num) number, size;
    struct team *t = p;
    if (rarely(size == NULL)) {
        *(void **)&number = gomp_find("omp_get_thread_num");
        *(void **)&size = gomp_find("omp_get_num_threads");
    }
    bool worker = t->owner != &innermost;
    struct frame *outer = innermost, *f = worker ? &outermost : &t->frame;
    if (worker && outer == NULL) EMIT(thread_begin, ompt_thread_worker, &thread);
    unsigned n = (unsigned)size();
    if (!worker) t->size = n;
    implicit_begins(f, worker ? NULL : outer, t->parallel, n, worker ? (unsigned)number() : 0);
    if (t->work != 0) {
        f->work = t->work;
        EMIT(work, t->work, ompt_scope_begin, &f->parallel, &f->task, t->count, NULL);
    }
    t->function(t->data);
    EMIT(sync_region, ompt_sync_region_barrier_implicit_parallel, ompt_scope_begin, &f->parallel, &f->task, NULL);
    waits = worker;
}

/* fork_begin and fork_end enclose the runtime's function that forks a region. */
inlined void fork_begin(struct team *t, void (*function)(void *), void *data, unsigned requested, const void *code) {
    struct frame *f = gomp_frame();
    t->first = NULL; /* all but the frame, which run_member makes */
    t->function = function;
    t->data = data;
    t->owner = &innermost;
    t->parallel.value = 0;
    t->work = 0;
    t->count = 0;
    t->size = 0;
    EMIT(parallel_begin, &f->task, NULL, &t->parallel, requested, ompt_parallel_invoker_program, code);
}

inlined void fork_end(struct team *t, const void *code) {
    struct frame *f = &t->frame;
    implicit_ends(f, t->size);
    innermost = f->outer;
    on_parallel_end_at_once(&t->parallel, &innermost->task, ompt_parallel_invoker_program, code);
}

exported void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags) {
    REAL(GOMP_parallel);
    struct team t;
    if (!gomp_ready()) {
        real(fn, data, n, flags);
        return;
    }
    fork_begin(&t, fn, data, n, HERE);
    real(run_member, &t, n, flags);
    fork_end(&t, HERE);
}

exported unsigned GOMP_parallel_reductions(void (*fn)(void *), void *data, unsigned n, unsigned flags) {
    REAL(GOMP_parallel_reductions);
    struct team t;
    if (!gomp_ready()) return real(fn, data, n, flags);
    fork_begin(&t, fn, data, n, HERE);
    t.first = *(void **)data;
    unsigned answer = real(run_member, &t, n, flags);
    fork_end(&t, HERE);
    return answer;
}

inlined uint64_t iterations(long start, long end, long step) {
    if (step == 0 || (step > 0 ? end <= start : end >= start)) return 0;
    return (uint64_t)((end - start + step + (step > 0 ? -1 : 1)) / step);
}

exported void GOMP_parallel_sections(void (*fn)(void *), void *data, unsigned n, unsigned count, unsigned flags) {
    REAL(GOMP_parallel_sections);
    struct team t;
    if (!gomp_ready()) {
        real(fn, data, n, count, flags);
        return;
    }
    fork_begin(&t, fn, data, n, HERE);
    t.work = ompt_work_sections;
    t.count = count;
    real(run_member, &t, n, count, flags);
    fork_end(&t, HERE);
}

#define PARALLEL_LOOP(name, kind)                                                                               \
    exported void name(void (*fn)(void *), void *data, unsigned n, long start, long end, long step, long chunk, \
                     unsigned flags) {                                                                          \
        REAL(name);                                                                                             \
        struct team t;                                                                                          \
        if (!gomp_ready()) {                                                                                    \
            real(fn, data, n, start, end, step, chunk, flags);                                                  \
            return;                                                                                             \
        }                                                                                                       \
        fork_begin(&t, fn, data, n, HERE);                                                                      \
        t.work = kind;                                                                                          \
        t.count = iterations(start, end, step);                                                                 \
        real(run_member, &t, n, start, end, step, chunk, flags);                                                \
        fork_end(&t, HERE);                                                                                     \
    }

PARALLEL_LOOP(GOMP_parallel_loop_static, ompt_work_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic, ompt_work_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided, ompt_work_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic, ompt_work_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided, ompt_work_loop_guided)
/* These have no chunk: the runtime takes flags from the place of chunk, and ignores the place of flags. */
PARALLEL_LOOP(GOMP_parallel_loop_runtime, ompt_work_loop_other)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_runtime, ompt_work_loop_other)
PARALLEL_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime, ompt_work_loop_other)

exported void GOMP_teams_reg(void (*fn)(void *), void *data, unsigned teams, unsigned limit, unsigned flags) {
    REAL(GOMP_teams_reg);
    ompt_data_t parallel = {0};
    if (!gomp_ready()) {
        real(fn, data, teams, limit, flags);
        return;
    }
    struct frame *f = gomp_frame();
    int league = ompt_parallel_invoker_program | ompt_parallel_league;
    EMIT(parallel_begin, &f->task, NULL, &parallel, teams, league, HERE);
    real(fn, data, teams, limit, flags);
    EMIT(parallel_end, &parallel, &f->task, league, HERE);
}

/* child precedes the arguments of a task, which the runtime copies. Its first word is also used by the runtime: for the
 * event of a task with detach. */
struct child {
    void *event;
    void (*function)(void *);
    ompt_data_t task;
    uint64_t offset; /* of the arguments, from the child's address */
};

/* birth is the input of copy_child. */
struct birth {
    struct child child;
    void (*copy)(void *, void *);
    void *data;
    long size;
    bool detach;
};

/* copy_bytes copies arguments, mostly words, without a call. */
inlined void copy_bytes(char *to, const char *from, long n) {
    for (; n >= 8; n -= 8, to += 8, from += 8) __builtin_memcpy(to, from, 8);
    for (; n > 0; n--) *to++ = *from++;
}

static void copy_child(void *to, void *from) {
    struct birth *b = from;
    memcpy(to, &b->child, sizeof b->child);
    if (b->detach && b->data != NULL) *(void **)b->data = b->child.event;
    void *arguments = (char *)to + b->child.offset;
    if (b->copy != NULL)
        b->copy(arguments, b->data);
    else
        copy_bytes(arguments, b->data, b->size);
}

static void execute(void *p) {
    struct child *c = p;
    struct frame *outer = gomp_frame(), f = {.outer = outer, .parallel = outer->parallel, .task = c->task};
    EMIT(task_schedule, &outer->task, ompt_task_switch, &f.task);
    innermost = &f;
    c->function((char *)p + c->offset);
    innermost = outer;
    EMIT(task_schedule, &f.task, ompt_task_complete, &outer->task);
}

/* Flags of GOMP_task. */
enum { TASK_UNTIED = 1, TASK_FINAL = 2, TASK_MERGEABLE = 4, TASK_DEPEND = 8, TASK_DETACH = 1 << 13 };

inlined int task_flags(bool deferred, unsigned flags) {
    return ompt_task_explicit | (deferred ? 0 : ompt_task_undeferred) | (flags & TASK_UNTIED ? ompt_task_untied : 0) |
           (flags & TASK_FINAL ? ompt_task_final : 0) | (flags & TASK_MERGEABLE ? ompt_task_mergeable : 0);
}

/* tasks_recorded reports whether tasks are recorded. If neither their beginning nor their end is, they are not
 * wrapped. */
inlined bool tasks_recorded(void) {
    return (recorder_head->events & (CODE(ompt_callback_task_create) | CODE(ompt_callback_task_schedule))) != 0;
}

exported void GOMP_task(void (*fn)(void *), void *data, void (*copy)(void *, void *), long size, long align,
                      bool deferred, unsigned flags, void **depend, int priority, void *detach) {
    REAL(GOMP_task);
    if (!gomp_ready() || !tasks_recorded()) {
        real(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    long unit = align > (long)sizeof(void *) ? align : (long)sizeof(void *);
    long offset = ((long)sizeof(struct child) + unit - 1) / unit * unit;
    struct birth b = {.child = {.function = fn, .offset = (uint64_t)offset}, .copy = copy, .data = data, .size = size,
                      .detach = (flags & TASK_DETACH) != 0};
    EMIT(task_create, &gomp_frame()->task, NULL, &b.child.task, task_flags(deferred, flags),
                   (flags & TASK_DEPEND) != 0, HERE);
    if (flags & TASK_DEPEND) gomp_depend(&b.child.task, depend);
    real(execute, &b, copy_child, size + offset, unit, deferred, flags, depend, priority, detach);
}
