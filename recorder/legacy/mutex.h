/* mutex.h: the callbacks of mutual exclusion and of omp_control, which OMPT's drafts have in common (draft2013.c,
 * version2.c). */
#ifndef OMPD_RECORDER_LEGACY_MUTEX_H
#define OMPD_RECORDER_LEGACY_MUTEX_H

#include "../events.h"

/* MUTEX defines the three callbacks of one kind of mutual exclusion. */
#define MUTEX(name, kind)                                                                \
    static void name##_wait(ompt_wait_id_t w) { on_mutex_acquire(kind, 0, 0, w, NULL); } \
    static void name##_acquired(ompt_wait_id_t w) { on_mutex_acquired(kind, w, NULL); }  \
    static void name##_released(ompt_wait_id_t w) { on_mutex_released(kind, w, NULL); }

MUTEX(lock, ompt_mutex_lock)
MUTEX(nest, ompt_mutex_nest_lock)
MUTEX(critical, ompt_mutex_critical)
MUTEX(atomic, ompt_mutex_atomic)
MUTEX(ordered, ompt_mutex_ordered)

static void control(uint64_t command, uint64_t modifier) { on_control_tool(command, modifier, NULL, NULL); }

static void nest_deeper(ompt_wait_id_t w) { on_nest_lock(ompt_scope_begin, w, NULL); }
static void nest_less(ompt_wait_id_t w) { on_nest_lock(ompt_scope_end, w, NULL); }
static void lock_init(ompt_wait_id_t w) { on_lock_init(ompt_mutex_lock, 0, 0, w, NULL); }
static void lock_destroy(ompt_wait_id_t w) { on_lock_destroy(ompt_mutex_lock, w, NULL); }
static void nest_init(ompt_wait_id_t w) { on_lock_init(ompt_mutex_nest_lock, 0, 0, w, NULL); }
static void nest_destroy(ompt_wait_id_t w) { on_lock_destroy(ompt_mutex_nest_lock, w, NULL); }

#endif
