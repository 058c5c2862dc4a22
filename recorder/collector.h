/* collector.h: what the recorder does for a collector of Sun's API (collector.c). */
#ifndef OMPD_RECORDER_COLLECTOR_H
#define OMPD_RECORDER_COLLECTOR_H

#include <stdint.h>

struct recorder_ring;

/* collector_listens: a collector has registered for events, and is to be sent them. */
extern __attribute__((visibility("hidden"))) uint32_t collector_listens;
/* collector_saw sends the events that a record stands for; word is its code, kind and flags. */
__attribute__((visibility("hidden"))) void collector_saw(const struct recorder_ring *ring, uint64_t word);

enum {
    COLLECTOR_WORKER = 2,         /* ompt_thread_worker */
    COLLECTOR_SINGLE = 3,         /* ompt_work_single_executor */
    COLLECTOR_SET_IMPOSSIBLE = 2, /* ompt_set_impossible; what is greater is called at least sometimes */
};

#endif
