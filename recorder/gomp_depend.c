//go:build ignore
/* gomp_depend.c: the dependences of tasks on GNU's runtime, as OMPT lists them (see gomp.c). */
#include "gomp.h"

/* Kinds of depend objects, which are an address and one of these. */
enum { OBJECT_IN = 1, OBJECT_MUTEXINOUTSET = 4, OBJECT_INOUTSET = 5 };

enum { KEPT = 2 * RECORDER_FOLLOW_MAX }; /* what on_dependences keeps of them */

/* counts are how many dependences an array has, by type in their order. What is behind those are depend objects. */
struct counts {
    uint64_t all, inout, mutexinoutset, in;
    void **first;
};

/* counts_of reads the head of an array. That of OpenMP 4 has two words, all and out; the later one begins with 0. */
static struct counts counts_of(void **array) {
    uint64_t all = (uint64_t)array[0], out = (uint64_t)array[1];
    if (all != 0) return (struct counts){.all = all, .inout = out, .in = all - out, .first = array + 2};
    return (struct counts){.all = out, .inout = (uint64_t)array[2], .mutexinoutset = (uint64_t)array[3],
                           .in = (uint64_t)array[4], .first = array + 5};
}

static ompt_dependence_t object(void **o) {
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
    struct counts n = counts_of(array);
    for (uint64_t i = 0; i < n.all && i < KEPT; i++) {
        ompt_dependence_t *d = &list[i];
        d->variable.ptr = n.first[i];
        if (i < n.inout)
            d->dependence_type = n.first[i] == NULL ? ompt_dependence_type_inout_all_memory : ompt_dependence_type_inout;
        else if (i < n.inout + n.mutexinoutset)
            d->dependence_type = ompt_dependence_type_mutexinoutset;
        else if (i < n.inout + n.mutexinoutset + n.in)
            d->dependence_type = ompt_dependence_type_in;
        else
            *d = object(n.first[i]);
    }
    TELL(dependences, task, list, n.all > INT32_MAX ? INT32_MAX : (int)n.all);
}

enum { WAIT_FLAGS = ompt_task_taskwait | ompt_task_undeferred | ompt_task_mergeable };

/* As LLVM's runtime tells it, a task that waits is made, and completes; and as for any taskwait, that there is a wait. */
exported void GOMP_taskwait_depend(void **depend) {
    REAL(GOMP_taskwait_depend);
    if (!gomp_ready()) {
        real(depend);
        return;
    }
    struct frame *f = gomp_frame();
    ompt_data_t wait = {0};
    TELL(task_create, &f->task, NULL, &wait, WAIT_FLAGS, 1, HERE);
    gomp_depend(&wait, depend);
    TELL(sync_region, ompt_sync_region_taskwait, ompt_scope_begin, &f->parallel, &f->task, HERE);
    real(depend);
    TELL(sync_region, ompt_sync_region_taskwait, ompt_scope_end, &f->parallel, &f->task, HERE);
    TELL(task_schedule, &wait, ompt_taskwait_complete, NULL);
}

/* A taskwait with nowait is a task that does nothing; nobody tells when it is over. */
exported void GOMP_taskwait_depend_nowait(void **depend) {
    REAL(GOMP_taskwait_depend_nowait);
    if (gomp_ready()) {
        ompt_data_t task = {0};
        TELL(task_create, &gomp_frame()->task, NULL, &task, ompt_task_explicit, 1, HERE);
        gomp_depend(&task, depend);
    }
    real(depend);
}
