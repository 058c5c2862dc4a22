/* legacy.h: the events of a runtime that implements OMPT as it was before OpenMP 5.0 (draft2013.c, version2.c). */
#ifndef OMPD_RECORDER_LEGACY_H
#define OMPD_RECORDER_LEGACY_H

#include "../events.h"
#include "../recorder.h"

/* legacy_event is one event of such a runtime: its callback, the code that it is recorded by, and the number of the
 * event to request if the runtime does not support this one (0: no event). */
struct legacy_event {
    ompt_callback_t callback;
    uint8_t code, fallback;
};

typedef int (*legacy_set_t)(int event, ompt_callback_t callback);

/* legacy_register sets the callbacks of those of n events that OMPD_RECORDER selects, and stores the runtime's
 * answers. */
hidden void legacy_register(legacy_set_t set, const struct legacy_event *events, int n);

#define EVENT(name, event) {(ompt_callback_t)name, ompt_callback_##event, 0}
#define EVENT_OR(name, event, number) {(ompt_callback_t)name, ompt_callback_##event, number}

#endif
