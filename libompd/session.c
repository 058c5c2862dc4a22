/* session.c: the start and end of the library, its lock, its handles, and the callbacks that the helper requests. */
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "devel"
#endif

struct session session = {.helper = -1};

static pthread_mutex_t lock;

/* The lock is robust: when a thread ends in a callback, the next thread gets it. */
static void make_lock(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Another thread may have held the lock when the process was forked; the child must not wait for it. */
__attribute__((constructor)) static void load(void) {
    make_lock();
    pthread_atfork(NULL, NULL, make_lock);
}

/* lose_helper forgets the helper after an error. */
static ompd_rc_t lose_helper(void) {
    helper_stop(session.helper);
    session.helper = -1;
    return ompd_rc_error;
}

/* was_left reports whether the callback in which this thread holds the lock was left for good: the frame of its caller
 * is gone or was overwritten. */
__attribute__((noinline, no_sanitize("address"))) static bool was_left(void) {
    volatile uint64_t *mark = session.mark;
    return !mark || (uintptr_t)__builtin_frame_address(0) > (uintptr_t)mark || *mark != session.marked;
}

/* take_lock locks the library. If the lock belonged to a routine that never returned, the helper is stopped, so that
 * its answer cannot reach another routine. */
static ompd_rc_t take_lock(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2 * PATIENCE_SECONDS;
    int failed = pthread_mutex_timedlock(&lock, &until);
    if (failed == EOWNERDEAD) pthread_mutex_consistent(&lock);
    else if (failed == EDEADLK && was_left()) session.mark = NULL;
    else if (failed) return ompd_rc_error; /* a callback calls the library, or another thread left one for good */
    if (failed) lose_helper();
    return ompd_rc_ok;
}

ompd_rc_t lock_session(ompd_rc_t not_initialized) {
    ompd_rc_t rc = take_lock();
    if (rc != ompd_rc_ok) return rc;
    if (!session.active) {
        pthread_mutex_unlock(&lock);
        return not_initialized;
    }
    if (session.owner != getpid()) {
        pthread_mutex_unlock(&lock);
        return ompd_rc_error;
    }
    return ompd_rc_ok;
}

/* unlock_session also replaces return codes that the tool's version of the interface lacks. */
ompd_rc_t unlock_session(ompd_rc_t rc) {
    ompd_word_t version = session.version;
    pthread_mutex_unlock(&lock);
    if (rc == ompd_rc_callback_error && version < OMPD_51) return ompd_rc_error;
    if (rc == ompd_rc_incompatible_handle && version < OMPD_60) return ompd_rc_bad_input;
    return rc;
}

ompd_rc_t allocate(uint64_t size, void **memory) {
    *memory = NULL;
    ompd_rc_t rc = CALLBACK(session.callbacks->alloc_memory(size, memory));
    if (rc == ompd_rc_nomem || (rc == ompd_rc_ok && !*memory)) return ompd_rc_nomem;
    return rc == ompd_rc_ok ? ompd_rc_ok : ompd_rc_callback_error;
}

ompd_rc_t check_space(const ompd_address_space_handle_t *space) {
    for (int i = 0; space && i < MAX_SPACES; i++)
        if (session.spaces[i] == space) return ompd_rc_ok;
    return ompd_rc_stale_handle;
}

ompd_rc_t check_handle(const struct handle *h, enum handle_kind kind) {
    if (!h || check_space((const void *)h) == ompd_rc_ok) return h ? ompd_rc_incompatible_handle : ompd_rc_stale_handle;
    if (h->kind < KIND_THREAD || h->kind > KIND_TASK) return ompd_rc_stale_handle;
    if (check_space(h->space) || h->space->id != h->space_id) return ompd_rc_stale_handle;
    return h->kind == kind ? ompd_rc_ok : ompd_rc_incompatible_handle;
}

static void read_memory(ompd_address_space_context_t *context, struct wire_message *m) {
    ompd_address_t at = {m->word[0], m->word[1]};
    uint64_t size = m->word[2];
    m->size = 0;
    m->word[0] = ompd_rc_bad_input;
    if (size > WIRE_BYTES) return;
    m->word[0] = CALLBACK(session.callbacks->read_memory(context, NULL, &at, size, session.bytes));
    if (m->word[0] == ompd_rc_ok) m->size = (uint32_t)size;
}

/* read_pieces reads the pieces in order, up to the first that fails. */
static void read_pieces(ompd_address_space_context_t *context, struct wire_message *m) {
    struct wire_piece piece[WIRE_PIECES];
    uint64_t n = m->word[0], done = 0;
    uint32_t size = 0;
    ompd_rc_t rc = n <= WIRE_PIECES && m->size == n * sizeof *piece ? ompd_rc_ok : ompd_rc_bad_input;
    if (rc == ompd_rc_ok) memcpy(piece, session.bytes, m->size);
    while (rc == ompd_rc_ok && done < n) {
        const struct wire_piece *p = &piece[done];
        ompd_address_t at = {p->segment, p->address};
        if (p->size > WIRE_BYTES - size) break;
        rc = CALLBACK(session.callbacks->read_memory(context, NULL, &at, p->size, session.bytes + size));
        if (rc == ompd_rc_ok) size += (uint32_t)p->size, done++;
    }
    m->size = size;
    m->word[0] = rc, m->word[1] = done;
}

static void find_symbol(ompd_address_space_context_t *context, struct wire_message *m) {
    ompd_address_t at = {ompd_segment_none, 0};
    const char *name = (const char *)session.bytes, *end = name + m->size;
    const char *file = memchr(name, 0, m->size);
    ompd_rc_t rc = ompd_rc_bad_input;
    if (file && ++file < end && !end[-1])
        rc = CALLBACK(session.callbacks->symbol_addr_lookup(context, NULL, name, &at, *file ? file : NULL));
    m->size = 0;
    m->word[0] = rc, m->word[1] = at.segment, m->word[2] = at.address;
}

ompd_rc_t call_helper(ompd_address_space_handle_t *space, struct wire_message *m, const void *bytes) {
    if (session.helper < 0) return ompd_rc_error;
    m->word[0] = space->id;
    if (!helper_send(session.helper, m, bytes)) return lose_helper();
    for (;;) {
        if (!helper_receive(session.helper, m, session.bytes)) return lose_helper();
        switch (m->kind) {
        case WIRE_RETURN:
            return m->word[0] <= ompd_rc_incompatible_handle ? (ompd_rc_t)m->word[0] : lose_helper();
        case WIRE_READ:
            read_memory(space->context, m);
            break;
        case WIRE_READS:
            read_pieces(space->context, m);
            break;
        case WIRE_SYMBOL:
            find_symbol(space->context, m);
            break;
        default:
            return lose_helper();
        }
        m->kind = WIRE_ANSWER;
        if (!helper_send(session.helper, m, session.bytes)) return lose_helper();
    }
}

/* is_usable reports whether the table contains the callbacks that the library needs. */
static bool is_usable(const ompd_callbacks_t *c) {
    return c && c->alloc_memory && c->free_memory && c->sizeof_type && c->symbol_addr_lookup && c->read_memory &&
           c->device_to_host;
}

static ompd_rc_t start_session(ompd_word_t version, const ompd_callbacks_t *callbacks) {
    const char *why;
    if (version != OMPD_50 && version != OMPD_51 && version != OMPD_52 && version != OMPD_60) return ompd_rc_unsupported;
    if (!is_usable(callbacks)) return ompd_rc_bad_input;
    if (session.active && session.owner == getpid() && session.helper >= 0) {
        /* Handles stay valid: a tool that initializes the library again only replaces its callbacks. */
        session.version = version;
        session.callbacks = callbacks;
        return ompd_rc_ok;
    }
    helper_stop(session.helper); /* a forked process has the socket of its parent */
    memset(session.spaces, 0, sizeof session.spaces);
    session.active = false;
    if ((session.helper = helper_start(&why)) < 0) {
        if (callbacks->print_string) (void)CALLBACK(callbacks->print_string(why, 0));
        return ompd_rc_error;
    }
    session.active = true;
    session.owner = getpid();
    session.version = version;
    session.callbacks = callbacks;
    return ompd_rc_ok;
}

ompd_rc_t ompd_initialize(ompd_word_t version, const ompd_callbacks_t *callbacks) {
    ompd_rc_t rc = take_lock();
    if (rc != ompd_rc_ok) return rc;
    rc = start_session(version, callbacks);
    pthread_mutex_unlock(&lock);
    return rc;
}

static void end_session(void) {
    helper_stop(session.helper);
    session.helper = -1;
    session.active = false;
    memset(session.spaces, 0, sizeof session.spaces);
}

ompd_rc_t ompd_finalize(void) {
    ompd_rc_t rc = lock_session(ompd_rc_unsupported);
    if (rc != ompd_rc_ok) return rc;
    end_session();
    return unlock_session(ompd_rc_ok);
}

/* A library that is unloaded while it is in use cleans up. */
__attribute__((destructor)) static void unload(void) { end_session(); }

ompd_rc_t ompd_get_api_version(ompd_word_t *version) {
    if (!version) return ompd_rc_bad_input;
    *version = OMPD_60;
    return ompd_rc_ok;
}

ompd_rc_t ompd_get_version_string(const char **string) {
    if (!string) return ompd_rc_bad_input;
    *string = "ompd-inspect " VERSION;
    return ompd_rc_ok;
}
