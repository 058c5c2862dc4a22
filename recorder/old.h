/* old.h: what the two parts that know old runtimes (old.c, old2.c) have in common. */
#ifndef OMPD_RECORDER_OLD_H
#define OMPD_RECORDER_OLD_H

#include "events.h"
#include "recorder.h"

/* old_event is one of an old runtime's: what is called for it, the code that it is recorded by, and the number of the
 * event that is asked for where the runtime does not tell this one (0: none). */
struct old_event {
    ompt_callback_t callback;
    uint8_t code, instead;
};

typedef int (*old_set_t)(int event, ompt_callback_t callback);

/* old_register asks for those of n events that OMPD_RECORDER wants, and notes what the runtime tells. */
hidden void old_register(old_set_t set, const struct old_event *events, int n);

/* ompt_initialize is what a runtime of 2013 calls (old.c). */
int ompt_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data);

#define OLD(name, event) {(ompt_callback_t)name, ompt_callback_##event, 0}
#define OLD_OR(name, event, number) {(ompt_callback_t)name, ompt_callback_##event, number}

#endif
