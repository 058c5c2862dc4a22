/* state.h: the state that all parts of the recorder share, and macros for declarations. It calls no function: the other
 * headers of the recorder are built on it. */
#ifndef OMPD_RECORDER_STATE_H
#define OMPD_RECORDER_STATE_H

#include <stdbool.h>

#include "format.h"
#include "ompt.h"

#define hidden __attribute__((visibility("hidden")))
#define exported __attribute__((visibility("default")))
#define inlined static inline __attribute__((always_inline))
#define rarely(x) __builtin_expect(!!(x), 0)

/* HERE is the code address to which the current function returns: the place in the program that called it. */
#define HERE __builtin_return_address(0)
/* CODE(n) is the bit of a code in a mask of events. */
#define CODE(n) (UINT64_C(1) << (n))

/* recorder_mine is the calling thread's ring, NULL before its first event. It is initial-exec, because each callback
 * reads it. It takes 8 bytes of the static block, where the C library reserves some bytes for libraries that are loaded
 * late. */
extern hidden __thread struct recorder_ring *recorder_mine __attribute__((tls_model("initial-exec")));
extern hidden struct recorder_header *recorder_head;
extern hidden uint32_t recorder_clock; /* enum recorder_clock */
extern hidden uint32_t recorder_off;   /* not 0: recording is paused, or there is no header yet */

/* recorder_upper is the first bit of the part of a region's id that is stored with a code address: 48
 * (RECORDER_ID_SHIFT), or 32 where the ids are not the recorder's. */
extern hidden uint32_t recorder_upper;
/* recorder_given: the runtime has its own ids, which its events contain (legacy/version2.c). */
extern hidden uint32_t recorder_given;
/* recorder_chained: OMPD_RECORDER_NEXT names a tool, and ompt_data_t contains that tool's values (chain.c). */
extern hidden uint32_t recorder_chained;
/* recorder_next are the callbacks of that tool. */
extern hidden ompt_callback_t recorder_next[64];

/* recorder_listener, if it is set, is called after each event. word has the event's code, kind and flags, as its first
 * record has them. */
typedef void (*recorder_listener_t)(const struct recorder_ring *ring, uint64_t word);
extern hidden recorder_listener_t recorder_listener;

#endif
