//go:build ignore
/* recorder.c: the start of the recorder, and its header. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

/* For debuggers, which find a symbol more easily than a mapping. */
exported struct recorder_header *ompd_recorder_header;

static __thread bool making_header;  /* this thread is making the header */
static uint32_t progress;        /* state of the header: 0 missing, 1 a thread is making it, 2 complete */

enum { MEMORY_MIN = 256 << 10 }; /* bytes */

#ifdef __x86_64__
#include <cpuid.h>

/* choose_clock returns the time stamp counter if it has a constant rate and never stops. */
static uint32_t choose_clock(uint64_t *frequency) {
    unsigned a, b, c, d;
    const char *wish = getenv("OMPD_RECORDER_CLOCK");
    if (wish != NULL && strcmp(wish, "monotonic") == 0) return RECORDER_CLOCK_MONOTONIC;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & 1 << 8) == 0) return RECORDER_CLOCK_MONOTONIC;
    if (__get_cpuid(0x15, &a, &b, &c, &d) != 0 && a != 0 && b != 0 && c != 0) *frequency = (uint64_t)c * b / a;
    return RECORDER_CLOCK_TSC;
}
#else
static uint32_t choose_clock(uint64_t *frequency) {
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(*frequency));
    return RECORDER_CLOCK_CNTVCT;
}
#endif

/* memory_limit returns OMPD_RECORDER_MEMORY in bytes: a number with K, M or G. */
static uint64_t memory_limit(void) {
    const char *set = getenv("OMPD_RECORDER_MEMORY");
    char *end;
    if (set == NULL || *set == 0) return RECORDER_MEMORY_DEFAULT;
    double n = strtod(set, &end);
    switch (*end) {
    case 'G': case 'g': n *= 1 << 30; break;
    case 'M': case 'm': n *= 1 << 20; break;
    case 'K': case 'k': n *= 1 << 10; break;
    }
    if (end == set || !(n > 0)) {
        fprintf(stderr, "libompd-recorder: OMPD_RECORDER_MEMORY: %s is not a size\n", set);
        return RECORDER_MEMORY_DEFAULT;
    }
    if (!(n >= MEMORY_MIN)) return MEMORY_MIN;
    return n > 1e15 ? (uint64_t)1e15 : (uint64_t)n;
}

/* map_header maps the memory of the header and the directory. Readers find it by its name. */
static void *map_header(void) {
    size_t size = RECORDER_HEADER_SIZE + RECORDER_RINGS_MAX * sizeof(uint64_t);
    int fd = (int)syscall(SYS_memfd_create, RECORDER_NAME, 1 /* MFD_CLOEXEC */);
    void *m = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (fd >= 0) close(fd);
    if (m == MAP_FAILED) m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return m == MAP_FAILED ? NULL : m;
}

/* fork_child makes the header that of the child process. The child has a copy of all rings, but only the thread that
 * called fork. */
static void fork_child(void) {
    struct recorder_header *h = recorder_head;
    uint32_t parent = h->pid;
    h->parent = parent;
    h->pid = (uint32_t)getpid();
    h->generation++;
    uint64_t *directory = (uint64_t *)((char *)h + h->header_size);
    for (uint32_t i = 0; i < h->rings && i < RECORDER_RINGS_MAX; i++) {
        struct recorder_ring *ring = (struct recorder_ring *)directory[i];
        if (ring != NULL && ring != recorder_mine && ring->life != RECORDER_LIFE_FREE)
            ring->life = RECORDER_LIFE_INHERITED;
    }
    if (recorder_mine == NULL) return;
    recorder_mine->tid = h->pid;
    record_rare(RECORDER_FORK, 0, 0, h->pid, parent, h->generation);
}

/* make_header makes the header and the memory of the rings. */
static bool make_header(uint32_t source, unsigned omp_version, const char *runtime) {
    struct recorder_header *h = map_header();
    uint64_t memory = memory_limit();
    void *arena = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h == NULL || arena == MAP_FAILED || !rings_prepare(memory)) {
        fprintf(stderr, "libompd-recorder: nothing is recorded: %s; try a smaller OMPD_RECORDER_MEMORY\n",
                strerror(errno));
        return false;
    }
    madvise(arena, memory, MADV_NOHUGEPAGE); /* a thread uses no more than its ring */
    pthread_atfork(NULL, NULL, fork_child);
    h->version = RECORDER_VERSION;
    h->header_size = RECORDER_HEADER_SIZE;
    h->record_size = RECORDER_RECORD_SIZE;
    h->ring_header = RECORDER_RING_HEADER;
    h->byte_order = RECORDER_BYTE_ORDER;
    h->pid = (uint32_t)getpid();
    h->clock = recorder_clock = choose_clock(&h->frequency);
    h->start = recorder_moment_now();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    h->realtime = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    h->arena = (uint64_t)arena;
    h->arena_size = memory;
    h->events = recorder_selected();
    h->ids = RECORDER_IDS_OURS;
    h->omp_version = omp_version;
    h->source = source;
    memset(h->registered, -1, sizeof h->registered);
    snprintf(h->runtime, sizeof h->runtime, "%s", runtime == NULL ? "" : runtime);
    snprintf(h->library, sizeof h->library, "%s", VERSION);
    memcpy(h->magic, RECORDER_MAGIC, sizeof h->magic);
    __atomic_store_n(&recorder_head, h, __ATOMIC_RELEASE);
    ompd_recorder_header = h;
    recorder_off = 0;
    return true;
}

/* claim_start reports whether the calling thread is the first one here and makes the header. Other threads wait for the
 * header, but not forever: the first thread may be in the process that this one was forked from, or may be this thread
 * itself, interrupted by a signal handler. */
static bool claim_start(void) {
    enum { ATTEMPTS = 100000 };
    uint32_t before = 0;
    if (__atomic_compare_exchange_n(&progress, &before, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        making_header = true;
        return true;
    }
    for (int i = 0; !making_header && before == 1 && i < ATTEMPTS; i++) {
        sched_yield();
        before = __atomic_load_n(&progress, __ATOMIC_ACQUIRE);
    }
    return false;
}

bool recorder_start(uint32_t source, unsigned omp_version, const char *runtime) {
    if (claim_start()) {
        bool made = make_header(source, omp_version, runtime);
        __atomic_store_n(&progress, 2, __ATOMIC_RELEASE);
        making_header = false;
        return made;
    }
    struct recorder_header *h = __atomic_load_n(&recorder_head, __ATOMIC_ACQUIRE);
    if (h != NULL) __atomic_fetch_or(&h->source, source, __ATOMIC_RELAXED); /* two runtimes in one program */
    return h != NULL;
}
