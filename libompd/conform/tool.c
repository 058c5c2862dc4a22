/* tool.c: the callbacks, which read /proc/PID/mem of a process that does not move. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

struct _ompd_aspace_cont { int number; };
struct _ompd_thread_cont { long lwp; };

static struct _ompd_aspace_cont contexts[4];
static int memory = -1;
/* The tool and the suite that it serves: OMPD's allocator has no argument by which it could be passed. */
static struct tool *tool;
static const struct suite *suite;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The thread-local __kmp_gtid is shown at addresses that no process has: GTID_BASE + 8 * index of a thread. */
static const uint64_t GTID_BASE = 0xfff0000000000000;

ompd_address_space_context_t *context(int n) { return &contexts[n]; }

void tool_open(const struct suite *s) {
    char path[64];
    suite = s, tool = s->tool;
    snprintf(path, sizeof path, "/proc/%d/mem", s->facts->pid);
    if ((memory = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
        perror(path);
        exit(2);
    }
}

/* is_faulty reports whether a callback must fail or lie now. */
static bool is_faulty(enum fault f) { return f != NO_FAULT && tool->fail_after-- <= 0; }

/* Every block is in a list, so that a pointer that the tool did not allocate is recognized. */
struct block {
    struct block *next;
    uint64_t size;
};
static struct block *blocks;

static ompd_rc_t alloc_memory(ompd_size_t size, void **p) {
    if (is_faulty(tool->alloc)) return tool->alloc == LIE ? (*p = NULL, ompd_rc_ok) : ompd_rc_error;
    struct block *b = malloc(sizeof *b + size);
    if (!b) return ompd_rc_nomem;
    pthread_mutex_lock(&lock);
    *b = (struct block){blocks, size};
    blocks = b;
    tool->blocks++, tool->bytes += (long)size;
    pthread_mutex_unlock(&lock);
    *p = memset(b + 1, 0xa5, size); /* a library must not count on zeros */
    return ompd_rc_ok;
}

static ompd_rc_t free_memory(void *p) {
    struct block *b = (struct block *)p - 1, **at = &blocks;
    pthread_mutex_lock(&lock);
    while (*at && *at != b) at = &(*at)->next;
    bool known = *at != NULL;
    if (known) {
        *at = b->next;
        tool->blocks--, tool->bytes -= (long)b->size;
        memset(p, 0x5a, b->size);
        free(b);
    } else {
        tool->foreign++;
    }
    pthread_mutex_unlock(&lock);
    return known ? ompd_rc_ok : ompd_rc_bad_input;
}

static ompd_rc_t print_string(const char *s, int category) {
    (void)category;
    fprintf(stderr, "library: %s\n", s);
    return ompd_rc_ok;
}

static ompd_rc_t sizeof_type(ompd_address_space_context_t *c, ompd_device_type_sizes_t *s) {
    __atomic_fetch_add(&tool->calls, 1, __ATOMIC_RELAXED);
    if (c == context(STRANGER)) return ompd_rc_stale_handle;
    if (is_faulty(tool->sizes) && tool->sizes == FAIL) return ompd_rc_error;
    *s = (ompd_device_type_sizes_t){1, 2, 4, 8, 8, 8};
    if (tool->sizes == LIE) s->sizeof_pointer = 3;
    return ompd_rc_ok;
}

static ompd_rc_t symbol(ompd_address_space_context_t *c, ompd_thread_context_t *t, const char *name, ompd_address_t *a,
                        const char *file) {
    (void)c, (void)file;
    __atomic_fetch_add(&tool->calls, 1, __ATOMIC_RELAXED);
    if (is_faulty(tool->symbol)) return tool->symbol == LIE ? (*a = (ompd_address_t){0, ~0UL}, ompd_rc_ok) : ompd_rc_error;
    a->segment = 0;
    a->address = t && !strcmp(name, "__kmp_gtid") ? GTID_BASE + 8 * (uint64_t)t->lwp : fact_symbol(suite->facts, name);
    return a->address ? ompd_rc_ok : ompd_rc_error;
}

/* MOST_LIED bounds a read that is answered with random bytes. A library that believes a lie about a size asks for
 * more bytes than any memory has; they would be written over the stack of this program. */
#define MOST_LIED ((ompd_size_t)64 << 10)

static ompd_rc_t read_memory(ompd_address_space_context_t *c, ompd_thread_context_t *t, const ompd_address_t *a,
                             ompd_size_t n, void *to) {
    (void)c, (void)t;
    __atomic_fetch_add(&tool->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tool->bytes_read, (long)n, __ATOMIC_RELAXED);
    if (tool->at_read) {
        void (*once)(struct suite *) = tool->at_read;
        tool->at_read = NULL;
        once(suite_of_thread());
    }
    if (tool->call_back) {
        ompd_address_space_handle_t *h;
        tool->call_back = false;
        tool->called_back = (int)suite->api->ompd_process_initialize(context(1), &h);
    }
    if (is_faulty(tool->read)) {
        if (tool->read != LIE || n > MOST_LIED) return ompd_rc_error;
        for (ompd_size_t i = 0; i < n; i++) ((char *)to)[i] = (char)(rand() >> 7);
        return ompd_rc_ok;
    }
    if (a->address >= GTID_BASE && n >= sizeof(int)) {
        int gtid = fact_gtid(suite->facts, (long)((a->address - GTID_BASE) / 8));
        memcpy(memset(to, 0, n), &gtid, sizeof gtid);
        return ompd_rc_ok;
    }
    return pread(memory, to, n, (off_t)a->address) == (ssize_t)n ? ompd_rc_ok : ompd_rc_device_read_error;
}

static ompd_rc_t write_memory(ompd_address_space_context_t *c, ompd_thread_context_t *t, const ompd_address_t *a,
                              ompd_size_t n, const void *from) {
    (void)c, (void)t, (void)a, (void)n, (void)from;
    return ompd_rc_unsupported;
}

static ompd_rc_t read_string(ompd_address_space_context_t *c, ompd_thread_context_t *t, const ompd_address_t *a,
                             ompd_size_t n, void *to) {
    ompd_address_t at = *a;
    for (char *p = to; n > 0; n--, p++, at.address++) {
        ompd_rc_t rc = read_memory(c, t, &at, 1, p);
        if (rc != ompd_rc_ok || !*p) return rc;
    }
    return ompd_rc_incomplete;
}

static ompd_rc_t convert(ompd_address_space_context_t *c, const void *from, ompd_size_t size, ompd_size_t n, void *to) {
    (void)c;
    if (is_faulty(tool->convert) && tool->convert == FAIL) return ompd_rc_error;
    memmove(to, from, size * n);
    if (tool->convert == LIE) /* as if the target had the other byte order */
        for (ompd_size_t i = 0; i < size * n; i++) ((char *)to)[i] = ((const char *)from)[size * n - 1 - i];
    return ompd_rc_ok;
}

/* thread_context returns the one context of each thread, as tools do. */
static ompd_rc_t thread_context(ompd_address_space_context_t *c, ompd_thread_id_t kind, ompd_size_t size, const void *id,
                                ompd_thread_context_t **t) {
    static struct _ompd_thread_cont threads[MAX_THREADS];
    uint64_t value = 0;
    (void)c;
    if (kind != OMPD_THREAD_ID_PTHREAD && kind != OMPD_THREAD_ID_LWP) return ompd_rc_unsupported;
    if (size > sizeof value || (kind == OMPD_THREAD_ID_PTHREAD && size != sizeof value)) return ompd_rc_bad_input;
    memcpy(&value, id, size);
    for (int i = 0; i < suite->facts->threads; i++) {
        const struct thread_fact *f = &suite->facts->thread[i];
        if (value != (kind == OMPD_THREAD_ID_LWP ? (uint64_t)f->lwp : f->pthread)) continue;
        threads[i].lwp = f->lwp;
        *t = &threads[i];
        return ompd_rc_ok;
    }
    return ompd_rc_unavailable;
}

const ompd_callbacks_t callbacks = {alloc_memory, free_memory, print_string, sizeof_type, symbol,      read_memory,
                                    write_memory, read_string, convert,      convert,     thread_context};
