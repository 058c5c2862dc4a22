/* ring.h: how a thread writes its rings. All of it runs in callbacks: it calls no functions of libraries, never waits,
 * and is safe when a signal handler that uses OpenMP interrupts it.
 */
#ifndef OMPD_RECORDER_RING_H
#define OMPD_RECORDER_RING_H

#include "state.h"

/* recorder_claim assigns a ring to the calling thread and returns it, or NULL if all rings are taken. */
hidden struct recorder_ring *recorder_claim(void);
/* recorder_recalibrate measures ring->moment. */
hidden void recorder_recalibrate(struct recorder_ring *ring);
hidden uint64_t recorder_monotonic(void);
hidden struct recorder_moment recorder_moment_now(void);

inlined uint64_t recorder_ticks(void) {
#if defined __x86_64__
    if (rarely(recorder_clock != RECORDER_CLOCK_TSC)) return recorder_monotonic();
    return __builtin_ia32_rdtsc();
#elif defined __aarch64__
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
#error "the recorder supports x86-64 and aarch64"
#endif
}

/* recorder_add adds n to a counter that only this thread and its signal handlers write. It returns the counter's value
 * before. */
inlined uint64_t recorder_add(uint64_t *counter, uint64_t n) {
#if defined __x86_64__
    __asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*counter) : : "memory", "cc");
    return n;
#else
    return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
#endif
}

/* recorder_order makes earlier stores visible to other processors before later ones. */
inlined void recorder_order(void) {
#if defined __x86_64__
    __asm__ volatile("" : : : "memory"); /* stores become visible in program order */
#else
    __asm__ volatile("dmb ishst" : : : "memory");
#endif
}

/* recorder_reserve reserves the next n records. It reports whether this did not interrupt another write. A signal
 * handler runs to its end: either it finds begun and head different and gives up, or it moves head and this function
 * tries again. */
inlined bool recorder_reserve(struct recorder_cursor *cursor, uint64_t n, uint64_t *at) {
    volatile struct recorder_cursor *c = cursor;
    for (;;) {
        uint64_t head = c->head;
        if (rarely(c->begun != head)) return false;
        c->begun = head + n;
        recorder_order();
        if (__builtin_expect(c->head == head, 1)) {
            *at = head;
            return true;
        }
        c->begun = c->head; /* the handler's value */
    }
}

/* slot is the place of an event: the first of its records, and the ring that contains it. */
struct slot {
    struct recorder_ring *ring;
    struct recorder_cursor *cursor;
    struct recorder_record *records;
    uint64_t at, time;
    uint64_t word, a, b; /* of the first record */
    uint32_t shift;
    uint32_t count;
};

inlined struct recorder_record *slot_record(struct slot *s, uint32_t i) {
    return &s->records[(s->at + i) & ((UINT64_C(1) << s->shift) - 1)];
}

/* slot_begin starts an event of count records in the main ring or that of rare events. It reports whether there is a
 * place for the event, which slot_close ends. An event that is at_once directly follows the thread's last event: it
 * gets the next tick and does not read the clock, which would take as long as writing the event. */
inlined bool slot_begin(struct slot *s, bool rare, uint32_t count, bool at_once) {
    struct recorder_ring *ring = recorder_mine;
    if (rarely(recorder_off)) return false;
    if (rarely(ring == NULL) && (ring = recorder_claim()) == NULL) return false;
    s->ring = ring;
    s->count = count;
    s->cursor = rare ? &ring->rare : &ring->main;
    s->shift = rare ? ring->rare_shift : ring->shift;
    s->records = (struct recorder_record *)(rare ? ring->rare_records : ring->records);
    if (rarely(!recorder_reserve(s->cursor, count, &s->at))) {
        recorder_add(&ring->dropped, 1);
        return false;
    }
    uint64_t now = at_once ? ring->last + 1 : recorder_ticks();
    if (rarely(now <= ring->last)) now = ring->last + 1;
    ring->last = s->time = now;
    return true;
}

inlined bool slot_open(struct slot *s, bool rare, uint32_t count) { return slot_begin(s, rare, count, false); }

inlined void slot_close(struct slot *s) {
    __atomic_store_n(&s->cursor->head, s->at + s->count, __ATOMIC_RELEASE);
    if (rarely(s->time >= s->ring->recalibrate)) recorder_recalibrate(s->ring);
    recorder_listener_t listener = __atomic_load_n(&recorder_listener, __ATOMIC_RELAXED);
    if (rarely(listener != NULL)) listener(s->ring, s->word);
}

inlined void record_set(struct recorder_record *r, uint64_t time, uint64_t word, uint64_t a, uint64_t b) {
    r->time = time;
    __builtin_memcpy(&r->code, &word, sizeof word);
    r->a = a;
    r->b = b;
}

inlined uint64_t slot_lap(struct slot *s, uint32_t i) { return ((s->at + i) >> s->shift & 0xff) << 24; }

inlined uint64_t recorder_word(uint32_t code, uint32_t kind, uint32_t flags, uint32_t value) {
    return code | (uint64_t)(kind & 0xff) << 8 | (uint64_t)flags << 16 | (uint64_t)value << 32;
}

/* slot_first writes the first record of an event, slot_more a record that continues it (i ≥ 1). */
inlined void slot_first(struct slot *s, uint32_t code, uint32_t kind, uint32_t flags, uint32_t value, uint64_t a,
                        uint64_t b) {
    s->word = recorder_word(code, kind, flags | (s->count - 1) * RECORDER_FOLLOW, value) | slot_lap(s, 0);
    s->a = a;
    s->b = b;
    record_set(slot_record(s, 0), s->time, s->word, a, b);
}

/* slot_copy writes the first record of an event to another place. It does not read memory that was just written, which
 * would stall the processor. */
inlined void slot_copy(struct slot *s, struct recorder_record *r) { record_set(r, s->time, s->word, s->a, s->b); }

inlined void slot_more(struct slot *s, uint32_t i, uint32_t value, uint64_t time, uint64_t a, uint64_t b) {
    record_set(slot_record(s, i), time, recorder_word(RECORDER_MORE, 0, 0, value) | slot_lap(s, i), a, b);
}

/* record_one writes an event of one record to the main ring. */
inlined void record_one(uint32_t code, uint32_t kind, uint32_t flags, uint32_t value, uint64_t a, uint64_t b) {
    struct slot s;
    if (!slot_open(&s, false, 1)) return;
    slot_first(&s, code, kind, flags, value, a, b);
    slot_close(&s);
}

/* record_rare writes an event of one record to the ring of rare events. */
inlined void record_rare(uint32_t code, uint32_t kind, uint32_t flags, uint32_t value, uint64_t a, uint64_t b) {
    struct slot s;
    if (!slot_open(&s, true, 1)) return;
    slot_first(&s, code, kind, flags, value, a, b);
    slot_close(&s);
}

/* text_kept returns the number of bytes of a text that are kept, text_records the number of records for them. */
inlined uint32_t text_kept(const char *text, size_t length) {
    uint32_t n = 0;
    while (text != NULL && n < RECORDER_TEXT_MAX && n < length && text[n] != 0) n++;
    return n;
}

#define TEXT_PER_RECORD 24
inlined uint32_t text_records(uint32_t kept) { return (kept + TEXT_PER_RECORD - 1) / TEXT_PER_RECORD; }

/* slot_text writes a text, or other bytes, from record i on: 24 bytes in time, a and b of each record, and their number
 * in value. */
inlined void slot_text(struct slot *s, uint32_t i, const char *text, uint32_t kept) {
    for (uint32_t at = 0; at < kept; at += TEXT_PER_RECORD, i++) {
        uint64_t words[TEXT_PER_RECORD / 8] = {0};
        uint32_t n = kept - at < TEXT_PER_RECORD ? kept - at : TEXT_PER_RECORD;
        for (uint32_t k = 0; k < n; k++) words[k / 8] |= (uint64_t)(unsigned char)text[at + k] << k % 8 * 8;
        slot_more(s, i, n, words[0], words[1], words[2]);
    }
}

inlined uint64_t recorder_address(const void *code) { return (uint64_t)code & RECORDER_ADDRESS_MASK; }

/* recorder_place returns a code address with the upper bits of a parallel region's id. */
inlined uint64_t recorder_place(const void *code, uint64_t parallel) {
    return recorder_address(code) | parallel >> recorder_upper << RECORDER_ADDRESS_BITS;
}

inlined uint64_t recorder_id(struct recorder_ring *ring, uint64_t count) {
    return (uint64_t)(ring->index + 1) << RECORDER_ID_SHIFT | count;
}

#endif
