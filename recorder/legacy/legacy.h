/* legacy.h: the events of a runtime that implements OMPT as it was before OpenMP 5.0 (draft2013.c, version2.c). */
#ifndef OMPD_RECORDER_LEGACY_H
#define OMPD_RECORDER_LEGACY_H

#include "../events.h"
#include "../recorder.h"

/* legacy_event is one event of such a runtime: its callback, the code that it is recorded by, and a second code whose
 * events it replaces if the runtime does not support them (0: no code): a region and the wait in it. */
struct legacy_event {
    ompt_callback_t callback;
    uint8_t code, replaces;
};

typedef int (*legacy_set_t)(int event, ompt_callback_t callback);

/* legacy_register sets the callbacks of those of n events that OMPD_RECORDER selects, and stores the runtime's
 * answers. It returns the mask of the events that the runtime calls, by their numbers. */
hidden uint64_t legacy_register(legacy_set_t set, const struct legacy_event *events, int n);

/* Numbers of events that the two interfaces have in common. */
enum {
    LEGACY_SHUTDOWN = 8,
    LEGACY_IDLE_BEGIN = 9,
    LEGACY_IDLE_END = 10,
    LEGACY_WAIT_BARRIER = 11,
    LEGACY_WAIT_TASKWAIT = 13,
};

#define EVENT(name, event) {(ompt_callback_t)name, ompt_callback_##event, 0}
#define REGION(name) {(ompt_callback_t)name, ompt_callback_sync_region, ompt_callback_sync_region_wait}
#define WAITING(name) {(ompt_callback_t)name, ompt_callback_sync_region_wait, ompt_callback_sync_region}

#endif
