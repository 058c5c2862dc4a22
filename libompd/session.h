/* session.h: what the files of the library share. */
#ifndef OMPD_INSPECT_SESSION_H
#define OMPD_INSPECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "omp-tools.h"
#include "wire.h"

#pragma GCC visibility push(hidden) /* of what is not in omp-tools.h */

/* Versions of the interface in the form of _OPENMP. */
enum { OMPD_50 = 201811, OMPD_51 = 202011, OMPD_52 = 202111, OMPD_60 = 202411 };

enum { MAX_SPACES = 64 }; /* address spaces at once: a debugger has one for each process that it holds */

/* The kind of a handle is its first word, and no small number. */
enum handle_kind {
    KIND_SPACE = 0x6f6d7064,
    KIND_THREAD,
    KIND_PARALLEL,
    KIND_TASK
};

struct _ompd_aspace_handle {
    uint64_t kind;
    uint64_t id; /* the helper's; no two are equal, ever */
    ompd_address_space_context_t *context;
};

/* A thread, a region or a task: where the runtime's structure of it lies, and the nesting level that tells apart
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

/* The time from ompd_initialize to ompd_finalize. Everything is read and written with the lock held. */
struct session {
    bool active;
    pid_t owner; /* the process that initialized the library: not one that was forked off it */
    int helper;  /* socket; -1 once the helper is lost */
    ompd_word_t version;
    const ompd_callbacks_t *callbacks;
    ompd_address_space_handle_t *spaces[MAX_SPACES];
    unsigned char bytes[WIRE_BYTES]; /* behind the message that was received last */
    volatile uint64_t *mark; /* in the frame that calls one of the tool's callbacks; null outside of them */
    uint64_t marked;         /* what is there */
};
extern struct session session;

/* CALLBACK calls one of the tool's callbacks, which may call the library, or leave by longjmp and never return: the
 * mark in the frame tells them apart. */
#define CALLBACK(call) \
    __extension__({ \
        volatile uint64_t mark_here = session.marked += 2; \
        session.mark = &mark_here; \
        ompd_rc_t callback_rc = (call); \
        session.mark = NULL; \
        callback_rc; \
    })

/* A helper that says nothing for so long is lost: it must not hang the debugger. */
enum { PATIENCE_SECONDS = 60 };

/* enter locks the library for one routine, which must leave it. It fails if the library is not initialized (with the
 * code that is given), in a forked process, and in a callback of this library on the same thread. */
ompd_rc_t enter(ompd_rc_t not_initialized);
ompd_rc_t leave(ompd_rc_t rc);

/* ask sends a call for an address space and serves the callbacks that the helper asks for. On return, the message is
 * what the helper returned. */
ompd_rc_t ask(ompd_address_space_handle_t *space, struct wire_message *m, const void *bytes);

/* allocate takes memory from the tool. */
ompd_rc_t allocate(uint64_t size, void **memory);

/* check_space and check_handle tell whether a handle is one that this library gave and that was not released. */
ompd_rc_t check_space(const ompd_address_space_handle_t *space);
ompd_rc_t check_handle(const struct handle *h, enum handle_kind kind);

/* The helper: a process that is no child of this one. All functions keep their hands off the tool's signals. */
int helper_start(const char **why); /* returns a socket, or -1 */
void helper_stop(int fd);
bool helper_send(int fd, const struct wire_message *m, const void *bytes);
bool helper_receive(int fd, struct wire_message *m, void *bytes);

#pragma GCC visibility pop

#endif
