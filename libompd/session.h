/* session.h: the types and functions that the files of the library share. */
#ifndef OMPD_INSPECT_SESSION_H
#define OMPD_INSPECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "omp-tools.h"
#include "wire.h"

#pragma GCC visibility push(hidden) /* of everything that omp-tools.h does not declare */

/* Versions of the interface in the form of _OPENMP. */
enum { OMPD_50 = 201811, OMPD_51 = 202011, OMPD_52 = 202111, OMPD_60 = 202411 };

enum { MAX_SPACES = 64 }; /* address spaces at a time: a debugger has one for each process that it debugs */

/* The kind of a handle is its first word. It is no small number, so that other memory is not mistaken for a handle. */
enum handle_kind {
    KIND_SPACE = 0x6f6d7064,
    KIND_THREAD,
    KIND_PARALLEL,
    KIND_TASK
};

struct _ompd_aspace_handle {
    uint64_t kind;
    uint64_t id; /* assigned by the helper; never used twice */
    ompd_address_space_context_t *context;
};

/* A thread, a region or a task: the address of the runtime's structure, and the nesting level that distinguishes
 * regions and tasks that share one. */
struct handle {
    uint64_t kind;
    ompd_address_space_handle_t *space;
    uint64_t space_id;
    uint64_t address, level;
};
struct _ompd_thread_handle { struct handle h; };
struct _ompd_parallel_handle { struct handle h; };
struct _ompd_task_handle { struct handle h; };

/* The time from ompd_initialize to ompd_finalize. All members are accessed with the lock held. */
struct session {
    bool active;
    pid_t owner; /* the process that initialized the library, not a forked one */
    int helper;  /* socket; -1 once the helper is lost */
    ompd_word_t version;
    const ompd_callbacks_t *callbacks;
    ompd_address_space_handle_t *spaces[MAX_SPACES];
    unsigned char bytes[WIRE_BYTES]; /* after the last received message */
    volatile uint64_t *mark; /* in the frame that calls one of the tool's callbacks; null otherwise */
    uint64_t marked;         /* its value */
};
extern struct session session;

/* CALLBACK calls one of the tool's callbacks. The callback may call the library, or leave by longjmp and never return:
 * the mark in the frame distinguishes the two. */
#define CALLBACK(call) \
    __extension__({ \
        volatile uint64_t mark_here = session.marked += 2; \
        session.mark = &mark_here; \
        ompd_rc_t callback_rc = (call); \
        session.mark = NULL; \
        callback_rc; \
    })

/* A helper that is silent for so long counts as lost, so that it cannot hang the debugger. */
enum { PATIENCE_SECONDS = 60 };

/* lock_session locks the library for one routine, which must call unlock_session. It fails if the library is not
 * initialized (with the given code), in a forked process, and in a callback of this library on the same thread. */
ompd_rc_t lock_session(ompd_rc_t not_initialized);
ompd_rc_t unlock_session(ompd_rc_t rc);

/* call_helper sends a call for an address space and serves the callbacks that the helper requests. Afterwards the
 * message contains the helper's return. */
ompd_rc_t call_helper(ompd_address_space_handle_t *space, struct wire_message *m, const void *bytes);

/* allocate allocates memory by the tool. */
ompd_rc_t allocate(uint64_t size, void **memory);

/* check_space and check_handle report whether a handle was made by this library and not released. */
ompd_rc_t check_space(const ompd_address_space_handle_t *space);
ompd_rc_t check_handle(const struct handle *h, enum handle_kind kind);

/* The helper: a process that is not a child of this one. These functions do not change the tool's signals. */
int helper_start(const char **why); /* returns a socket, or -1 and the reason */
void helper_stop(int fd);
bool helper_send(int fd, const struct wire_message *m, const void *bytes);
bool helper_receive(int fd, struct wire_message *m, void *bytes);

#pragma GCC visibility pop

#endif
