/* recorder.h: the parts of the recorder. */
#ifndef OMPD_RECORDER_H
#define OMPD_RECORDER_H

#include "ring.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

/* recorder_start makes the header and the memory of the rings, once in a process. It reports whether there is one. */
hidden bool recorder_start(uint32_t source, unsigned omp_version, const char *runtime);
/* recorder_register sets the callbacks that are wanted. */
hidden void recorder_register(ompt_function_lookup_t lookup);
/* recorder_wanted is the mask of codes that OMPD_RECORDER asks for. */
hidden uint64_t recorder_wanted(void);

/* The callbacks by their numbers, NULL where another of the two tables has it. */
extern hidden const ompt_callback_t recorder_host[64];   /* ompt.c: what is frequent */
extern hidden const ompt_callback_t recorder_rare[64];   /* rare.c */
extern hidden const ompt_callback_t recorder_target[64]; /* target.c */

/* recorder_next has the callbacks of the tool that OMPD_RECORDER_NEXT names (chain.c). */
extern hidden ompt_callback_t recorder_next[64];
/* recorder_chained: there is such a tool, and what ompt_data_t has is its own. */
extern hidden uint32_t recorder_chained;
/* recorder_given: the runtime has ids of its own, which events bring (old2.c). */
extern hidden uint32_t recorder_given;
/* chain_start starts the next tool, chain_initialize lets it set its callbacks, chain_finalize ends it. */
hidden void chain_start(unsigned omp_version, const char *runtime);
hidden void chain_initialize(ompt_function_lookup_t lookup, int initial_device_num);
hidden void chain_finalize(void);

/* device_trace starts the tracing of a device, if it offers that and the user wants it (device.c). */
hidden void device_trace(int device, ompt_device_t *handle, ompt_function_lookup_t lookup);

#define CODE(n) (UINT64_C(1) << (n))
#define CALLBACK(name) [ompt_callback_##name] = (ompt_callback_t)on_##name

/* NEXT(name, arguments) calls the next tool's callback, if it has one. */
#define NEXT(name, ...)                                        \
    do {                                                       \
        if (rarely(recorder_next[ompt_callback_##name] != NULL)) \
            ((__typeof__(&on_##name))recorder_next[ompt_callback_##name])(__VA_ARGS__); \
    } while (0)

/* id_of is the id of what the runtime has this word for; 0 for none. */
inlined uint64_t id_of(const ompt_data_t *data) {
    if (rarely(recorder_chained)) return (uint64_t)data;
    return data == NULL ? 0 : data->value;
}

/* id_give gives a new id to what the runtime has this word for, and returns it. */
inlined uint64_t id_give(ompt_data_t *data, uint64_t id) {
    if (rarely(recorder_chained | recorder_given)) return id_of(data);
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

/* slot_region writes an event that has a region, a task and a code address. */
inlined void slot_region(struct slot *s, uint32_t code, uint32_t kind, uint32_t flags, const ompt_data_t *parallel,
                         uint64_t task, const void *address) {
    uint64_t id = id_of(parallel);
    slot_first(s, code, kind, flags, (uint32_t)id, recorder_place(address, id), task);
}

#endif
