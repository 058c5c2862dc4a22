/* gomp.h: what the files that stand before GNU's runtime share. */
#ifndef OMPD_RECORDER_GOMP_H
#define OMPD_RECORDER_GOMP_H

#include "events.h"
#include "recorder.h"

/* frame is a task that a thread is in, with its region. */
struct frame {
    struct frame *outer;
    ompt_data_t parallel, task;
    int work; /* ompt_work_t of the worksharing construct that it is in */
    long dimensions; /* loops of the last one whose iterations wait for others */
};

/* gomp_frame is the innermost task of the calling thread; what calls it has asked gomp_ready. */
hidden struct frame *gomp_frame(void);
/* gomp_depend tells of the dependences of a task, of the array that a compiler makes of them. */
hidden void gomp_depend(ompt_data_t *task, void **array);
/* gomp_start begins to record; it reports whether calls are to be recorded at all. */
hidden bool gomp_start(void);
/* gomp_find finds the runtime's function of a name. A program that has called it has one. */
hidden void *gomp_find(const char *name);

extern hidden uint32_t gomp_state; /* enum gomp_state */
enum gomp_state { GOMP_UNKNOWN, GOMP_RECORDS, GOMP_PASSES };

/* gomp_ready reports whether calls are recorded. They are passed on only where the functions are another runtime's, as
 * LLVM's has them too, and tells of its events itself: by a jump at the end of the function, so that the place that it
 * tells is the program's. */
inlined bool gomp_ready(void) {
    uint32_t state = __atomic_load_n(&gomp_state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == GOMP_RECORDS, 1)) return true;
    return state == GOMP_UNKNOWN && gomp_start();
}

/* TELL(event, arguments) records an event, if it is one of those that are wanted. */
#define TELL(event, ...)                                                                                    \
    do {                                                                                                    \
        if (__builtin_expect((recorder_head->events & CODE(ompt_callback_##event)) != 0, 1)) on_##event(__VA_ARGS__); \
    } while (0)

/* REAL(f) declares real, the runtime's function of the name. */
#define REAL(name)                                                                       \
    static __typeof__(&name) found;                                                      \
    __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED);                  \
    if (rarely(real == NULL)) {                                                          \
        *(void **)&real = gomp_find(#name);                                              \
        __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                \
    }

#endif
