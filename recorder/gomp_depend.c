//go:build ignore
/* gomp_depend.c: the dependences of tasks on GNU's runtime, in OMPT's form (see gomp.c). out and inout are one type
 * here, as they are for the runtime. */
#include "gomp.h"

/* Kinds of depend objects. An object is an address and a kind. */
enum { OBJECT_IN = 1, OBJECT_MUTEXINOUTSET = 4, OBJECT_INOUTSET = 5 };

enum { KEPT = 2 * RECORDER_FOLLOW_MAX }; /* the number that on_dependences keeps */

/* counts are the numbers of dependences in an array, by type in their order. The rest are depend objects. */
struct counts {
    uint64_t all, inout, mutexinoutset, in;
    void **first;
};

/* read_counts reads the head of an array. In OpenMP 4 it has two words, all and out; the later form begins with 0. */
static struct counts read_counts(void **array) {
    uint64_t all = (uint64_t)array[0], out = (uint64_t)array[1];
    if (all != 0) return (struct counts){.all = all, .inout = out, .in = all - out, .first = array + 2};
    return (struct counts){.all = out, .inout = (uint64_t)array[2], .mutexinoutset = (uint64_t)array[3],
                           .in = (uint64_t)array[4], .first = array + 5};
}

static ompt_dependence_t read_object(void **o) {
    ompt_dependence_t d = {.variable.ptr = o[0], .dependence_type = ompt_dependence_type_inout};
    switch ((uintptr_t)o[1]) {
    case OBJECT_IN: d.dependence_type = ompt_dependence_type_in; break;
    case OBJECT_MUTEXINOUTSET: d.dependence_type = ompt_dependence_type_mutexinoutset; break;
    case OBJECT_INOUTSET: d.dependence_type = ompt_dependence_type_inoutset; break;
    }
    return d;
}

void gomp_depend(ompt_data_t *task, void **array) {
    ompt_dependence_t list[KEPT];
    struct counts n = read_counts(array);
    for (uint64_t i = 0; i < n.all && i < KEPT; i++) {
        ompt_dependence_t *d = &list[i];
        d->variable.ptr = n.first[i];
        if (i < n.inout)
            d->dependence_type = n.first[i] == NULL ? ompt_dependence_type_inout_all_memory
                                                    : ompt_dependence_type_inout;
        else if (i < n.inout + n.mutexinoutset)
            d->dependence_type = ompt_dependence_type_mutexinoutset;
        else if (i < n.inout + n.mutexinoutset + n.in)
            d->dependence_type = ompt_dependence_type_in;
        else
            *d = read_object(n.first[i]);
    }
    EMIT(dependences, task, list, n.all > INT32_MAX ? INT32_MAX : (int)n.all);
}

enum { WAIT_FLAGS = ompt_task_taskwait | ompt_task_undeferred | ompt_task_mergeable };

/* As on LLVM's runtime, the wait is a task that is created and completes; and as for any taskwait, a wait is
 * recorded. */
exported void GOMP_taskwait_depend(void **depend) {
    REAL(GOMP_taskwait_depend);
    if (!gomp_ready()) {
        real(depend);
        return;
    }
    struct frame *f = gomp_frame();
    ompt_data_t wait = {0};
    EMIT(task_create, &f->task, NULL, &wait, WAIT_FLAGS, 1, HERE);
    gomp_depend(&wait, depend);
    EMIT(sync_region, ompt_sync_region_taskwait, ompt_scope_begin, &f->parallel, &f->task, HERE);
    real(depend);
    EMIT(sync_region, ompt_sync_region_taskwait, ompt_scope_end, &f->parallel, &f->task, HERE);
    EMIT(task_schedule, &wait, ompt_taskwait_complete, NULL);
}

/* A taskwait with nowait is an empty task. Its end is not observable. */
exported void GOMP_taskwait_depend_nowait(void **depend) {
    REAL(GOMP_taskwait_depend_nowait);
    if (gomp_ready()) {
        ompt_data_t task = {0};
        EMIT(task_create, &gomp_frame()->task, NULL, &task, ompt_task_explicit, 1, HERE);
        gomp_depend(&task, depend);
    }
    real(depend);
}
