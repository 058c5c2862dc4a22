//go:build ignore
/* ring.c: the memory of the rings, and their assignment to threads. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

static __thread bool claiming;   /* a signal handler must not claim a second ring meanwhile */
static uint32_t ring_shift;      /* log2 of the records of a main ring while there is memory */
static uint32_t oldest;          /* where the search for the ring of an ended thread continues */
static pthread_key_t at_exit;

enum {
    RECORDS_USUAL = 32768,       /* in a main ring, 1 MiB: larger ones do not fit into a processor's cache */
    CALIBRATE_FIRST = 1000000,   /* nanoseconds after which the clocks are compared again; then */
    CALIBRATE_MOST = 1000000000, /* twice as many each time, up to these */
    PAGE = 4096,
};

uint64_t recorder_monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* the vDSO's, no system call */
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct recorder_moment recorder_moment_now(void) {
    return (struct recorder_moment){.ticks = recorder_ticks(), .monotonic = recorder_monotonic()};
}

/* recorder_recalibrate compares the clocks, and schedules the next comparison after as long as the recorder has run by
 * now. So the rate of the ticks is known early, and the last event of a program that stops making events is not far
 * from a comparison. */
__attribute__((noinline)) void recorder_recalibrate(struct recorder_ring *ring) {
    struct recorder_moment now = recorder_moment_now(), start = recorder_head->start;
    uint64_t ns = now.monotonic - start.monotonic, ticks = now.ticks - start.ticks;
    if (ns > CALIBRATE_MOST) ticks = (uint64_t)((double)ticks * CALIBRATE_MOST / (double)ns);
    if (ns < CALIBRATE_FIRST / 8) ticks *= 8;
    ring->recalibrate = now.ticks + ticks;
    ring->moment = now;
}

static uint64_t ring_size(uint32_t shift) {
    uint64_t rare = (UINT64_C(1) << shift) / 8;
    if (rare < RECORDER_RARE_MIN) rare = RECORDER_RARE_MIN;
    uint64_t size = RECORDER_RING_HEADER + ((UINT64_C(1) << shift) + rare) * RECORDER_RECORD_SIZE;
    return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint32_t shift_of(uint32_t n) { return 31 - (uint32_t)__builtin_clz(n); }

/* choose_shift assigns half of the memory to twice as many threads as are expected. */
static uint32_t choose_shift(uint64_t memory) {
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    const char *set = getenv("OMP_NUM_THREADS");
    if (set != NULL && atol(set) > threads) threads = atol(set);
    if (threads < 2) threads = 2;
    if (threads > RECORDER_RINGS_MAX) threads = RECORDER_RINGS_MAX;
    uint32_t shift = shift_of(RECORDS_USUAL);
    for (uint64_t m = memory; m > RECORDER_MEMORY_DEFAULT && shift < shift_of(RECORDER_RECORDS_MAX); m /= 2) shift++;
    while (shift > shift_of(RECORDER_RECORDS_MIN) && ring_size(shift) > memory / 2 / (uint64_t)threads) shift--;
    return shift;
}

/* thread_exit releases the ring for other threads when the thread makes no more events: in the second round of
 * destructors, because LLVM's runtime ends threads of the program in its own destructor, which runs after this one. If
 * the thread makes an event even later, it gets a ring again. */
static void thread_exit(void *p) {
    static __thread bool again __attribute__((tls_model("initial-exec")));
    struct recorder_ring *ring = p;
    again = !again;
    if (again && pthread_setspecific(at_exit, ring) == 0) return;
    recorder_mine = NULL;
    __atomic_store_n(&ring->life, RECORDER_LIFE_ENDED, __ATOMIC_RELEASE);
}

bool rings_prepare(uint64_t memory) {
    ring_shift = choose_shift(memory);
    return pthread_key_create(&at_exit, thread_exit) == 0;
}

/* ring_reuse takes the ring of a thread that has ended, about the oldest first. */
static struct recorder_ring *ring_reuse(struct recorder_header *h) {
    uint64_t *directory = (uint64_t *)((char *)h + h->header_size);
    uint32_t n = h->rings < RECORDER_RINGS_MAX ? h->rings : RECORDER_RINGS_MAX;
    uint32_t from = __atomic_load_n(&oldest, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (from + i) % n;
        struct recorder_ring *ring = (struct recorder_ring *)__atomic_load_n(&directory[at], __ATOMIC_ACQUIRE);
        if (ring == NULL) continue;
        uint32_t life = __atomic_load_n(&ring->life, __ATOMIC_ACQUIRE);
        if (life != RECORDER_LIFE_ENDED && life != RECORDER_LIFE_INHERITED) continue;
        if (!__atomic_compare_exchange_n(&ring->life, &life, RECORDER_LIFE_THREAD, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&oldest, at + 1, __ATOMIC_RELAXED);
        ring->previous_tid = ring->tid;
        ring->epoch++;
        return ring;
    }
    return NULL;
}

/* ring_new makes a ring of 1 << shift records if that fits into the memory below limit. */
static struct recorder_ring *ring_new(struct recorder_header *h, uint32_t shift, uint64_t limit) {
    uint64_t size = ring_size(shift), used = __atomic_load_n(&h->arena_used, __ATOMIC_RELAXED);
    do {
        if (used + size > limit) return NULL;
    } while (!__atomic_compare_exchange_n(&h->arena_used, &used, used + size, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    uint32_t index = __atomic_fetch_add(&h->rings, 1, __ATOMIC_RELAXED);
    if (index >= RECORDER_RINGS_MAX) {
        __atomic_fetch_sub(&h->rings, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    struct recorder_ring *ring = (struct recorder_ring *)(h->arena + used);
    ring->life = RECORDER_LIFE_THREAD;
    ring->index = index;
    ring->shift = shift;
    ring->rare_shift = shift < shift_of(RECORDER_RARE_MIN) + 3 ? shift_of(RECORDER_RARE_MIN) : shift - 3;
    ring->records = (uint64_t)ring + RECORDER_RING_HEADER;
    ring->rare_records = ring->records + (RECORDER_RECORD_SIZE << shift);
    ring->size = size;
    uint64_t *directory = (uint64_t *)((char *)h + h->header_size);
    __atomic_store_n(&directory[index], (uint64_t)ring, __ATOMIC_RELEASE);
    return ring;
}

/* ring_take returns a ring for a new thread: a full-sized one while half of the memory is free, as history is worth
 * more than memory; then that of a thread that has ended; then smaller ones, so that as many threads as possible have
 * one. */
static struct recorder_ring *ring_take(struct recorder_header *h) {
    uint64_t all = h->arena_size;
    uint32_t least = shift_of(RECORDER_RECORDS_MIN), small = ring_shift > least + 3 ? ring_shift - 3 : least;
    struct recorder_ring *ring = ring_new(h, ring_shift, all / 2);
    if (ring == NULL) ring = ring_reuse(h);
    if (ring == NULL) ring = ring_new(h, small, all / 4 * 3);
    if (ring == NULL) ring = ring_new(h, least, all);
    return ring;
}

/* ring_begin assigns the ring to the calling thread. */
static void ring_begin(struct recorder_ring *ring) {
    ring->held = ring->regions = ring->tasks = 0;
    ring->state = ompt_state_undefined;
    ring->thread_id = ring->type = 0;
    ring->tid = (uint32_t)syscall(SYS_gettid);
    ring->pthread = (uint64_t)pthread_self();
    ring->main.begun = ring->base = ring->main.head; /* drops what the last thread has not finished */
    ring->rare.begun = ring->rare_base = ring->rare.head;
    recorder_mine = ring;
    recorder_recalibrate(ring);
    record_one(RECORDER_THREAD, 0, 0, ring->tid, ring->pthread, ring->epoch);
    record_rare(RECORDER_THREAD, 0, 0, ring->tid, ring->pthread, ring->epoch);
}

__attribute__((noinline)) struct recorder_ring *recorder_claim(void) {
    if (claiming) return NULL; /* a signal handler that interrupts the code below */
    claiming = true;
    int saved = errno;
    struct recorder_ring *ring = ring_take(recorder_head);
    if (ring == NULL) {
        __atomic_fetch_add(&recorder_head->unrecorded, 1, __ATOMIC_RELAXED);
    } else {
        ring_begin(ring);
        pthread_setspecific(at_exit, ring);
    }
    errno = saved;
    claiming = ring == NULL; /* later calls would fail, too */
    return ring;
}
