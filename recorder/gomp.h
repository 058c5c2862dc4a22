/* gomp.h: the interception of GNU's runtime: types and functions that its files share. */
#ifndef OMPD_RECORDER_GOMP_H
#define OMPD_RECORDER_GOMP_H

#include "events.h"
#include "recorder.h"

/* frame is a task that a thread executes, with its region. */
struct frame {
    struct frame *outer;
    ompt_data_t parallel, task;
    int work; /* ompt_work_t of the worksharing construct that it is in */
    long dimensions; /* number of loops of the last doacross construct */
};

/* gomp_frame returns the innermost task of the calling thread. gomp_ready must have returned true. */
hidden struct frame *gomp_frame(void);
/* gomp_depend records the dependences of a task from the array that the compiler makes of them. */
hidden void gomp_depend(ompt_data_t *task, void **array);
/* gomp_start starts the recorder. It reports whether calls are recorded. */
hidden bool gomp_start(void);
/* gomp_find returns the runtime's function of this name, and aborts if the runtime lacks it. */
hidden void *gomp_find(const char *name);

extern hidden uint32_t gomp_state; /* enum gomp_state */
enum gomp_state { GOMP_UNKNOWN, GOMP_RECORDS, GOMP_PASSES };

/* gomp_ready reports whether calls are recorded. LLVM's runtime exports the same functions, and reports its events
 * through OMPT. Its calls are passed on by a tail call, so that the code address that it reports is the program's. */
inlined bool gomp_ready(void) {
    uint32_t state = __atomic_load_n(&gomp_state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == GOMP_RECORDS, 1)) return true;
    return state == GOMP_UNKNOWN && gomp_start();
}

/* EMIT(event, arguments) records an event, if it is selected. */
#define EMIT(event, ...)                                                                                              \
    do {                                                                                                              \
        if (__builtin_expect((recorder_head->events & CODE(ompt_callback_##event)) != 0, 1)) on_##event(__VA_ARGS__); \
    } while (0)

/* REAL(name) declares real, the runtime's function of that name. */
#define REAL(name)                                                      \
    static __typeof__(&name) found;                                     \
    __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED); \
    if (rarely(real == NULL)) {                                         \
        *(void **)&real = gomp_find(#name);                             \
        __atomic_store_n(&found, real, __ATOMIC_RELAXED);               \
    }

#endif
