/* recorder.h: the operations of the recorder's parts. Each part is built on those above it, and none on those below:
 *
 *   format.h  ompt.h                   the records in memory; OMPT's interface in C
 *   state.h  state.c                   the variables that all parts share
 *   ring.h  ring.c                     how a thread takes its rings and writes them
 *   tables.h  taskwords.h              a thread's tasks, regions and locks; words of the runtime
 *   recorder.c  selection.c            the header and its memory; the events that the user selects
 *   ompt.c  rare.c  target.c  device.c callbacks of OMPT (events.h)
 *   register.c  chain.c  tool.c        OMPT's start: callbacks are set, and another tool is called, too
 *   gomp*.c                            calls of GNU's runtime become the same events (gomp.h)
 *   legacy/                            interfaces before OpenMP 5.0
 */
#ifndef OMPD_RECORDER_H
#define OMPD_RECORDER_H

#include "ring.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

enum { RECORDER_MEMORY_DEFAULT = 64 << 20 }; /* OMPD_RECORDER_MEMORY, bytes */

/* recorder_start makes the header and the memory of the rings, once in a process. It reports whether they exist. */
hidden bool recorder_start(uint32_t source, unsigned omp_version, const char *runtime);
/* recorder_selected returns the mask of codes that OMPD_RECORDER selects (selection.c). */
hidden uint64_t recorder_selected(void);
/* rings_prepare chooses the size of a ring, given the memory for all rings in bytes. It reports success (ring.c). */
hidden bool rings_prepare(uint64_t memory);
/* recorder_register sets the callbacks of the events that are selected. */
hidden void recorder_register(ompt_function_lookup_t lookup);

/* The callbacks by their numbers, NULL where another of the three tables has it. */
extern hidden const ompt_callback_t recorder_host[64];   /* ompt.c: frequent events */
extern hidden const ompt_callback_t recorder_rare[64];   /* rare.c */
extern hidden const ompt_callback_t recorder_target[64]; /* target.c */

/* chain_start starts the tool that OMPD_RECORDER_NEXT names, chain_initialize initializes it, so that it sets its
 * callbacks, and chain_finalize finalizes it. */
hidden void chain_start(unsigned omp_version, const char *runtime);
hidden void chain_initialize(ompt_function_lookup_t lookup, int initial_device_num);
hidden void chain_finalize(void);

/* ompt_initialize is the function that a runtime of 2013 calls (legacy/draft2013.c). */
int ompt_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data);

/* device_trace starts the tracing of a device, if the device offers it and the user wants it (device.c). */
hidden void device_trace(int device, ompt_device_t *handle, ompt_function_lookup_t lookup);

#define CALLBACK(name) [ompt_callback_##name] = (ompt_callback_t)on_##name

/* NEXT(name, arguments) calls the callback of the next tool, if it has set one. */
#define NEXT(name, ...)                                                                 \
    do {                                                                                \
        if (rarely(recorder_next[ompt_callback_##name] != NULL))                        \
            ((__typeof__(&on_##name))recorder_next[ompt_callback_##name])(__VA_ARGS__); \
    } while (0)

/* id_of returns the id that is in a word of the runtime; 0 if there is none. */
inlined uint64_t id_of(const ompt_data_t *data) {
    if (rarely(recorder_chained)) return (uint64_t)data;
    return data == NULL ? 0 : data->value;
}

/* id_give assigns a new id to a word of the runtime and returns the id that the word then has; 0 without a word. */
inlined uint64_t id_give(ompt_data_t *data, uint64_t id) {
    if (rarely(recorder_chained | recorder_given) || rarely(data == NULL)) return id_of(data);
    data->value = id;
    return id;
}

inlined uint64_t task_new(struct slot *s, ompt_data_t *data) {
    return id_give(data, recorder_id(s->ring, ++s->ring->tasks_made));
}

inlined uint64_t region_new(struct slot *s, ompt_data_t *data) {
    s->ring->regions_made = (s->ring->regions_made + 1) & UINT32_MAX;
    return id_give(data, recorder_id(s->ring, s->ring->regions_made));
}

/* slot_region writes the first record of an event that has a region, a task and a code address. */
inlined void slot_region(struct slot *s, uint32_t code, uint32_t kind, uint32_t flags, const ompt_data_t *parallel,
                         uint64_t task, const void *address) {
    uint64_t id = id_of(parallel);
    slot_first(s, code, kind, flags, (uint32_t)id, recorder_place(address, id), task);
}

#endif
