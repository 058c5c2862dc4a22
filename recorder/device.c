//go:build ignore
/* device.c: records that devices trace themselves (OpenMP 5.1, 4.2.5 and 4.6.2). The runtime requests buffers, the
 * device fills them, and the runtime hands them back. Each record goes into the ring of the thread that hands it back.
 * Current runtimes have defects here: buffers come back empty, records overlap or are outside of the buffer, cursors do
 * not advance, a runtime may crash if it gets no buffer, and may hang during a flush. So the recorder never
 * flushes (the runtime flushes before it finalizes a device), and always provides a buffer.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder.h"

enum {
    DEVICES = 64,           /* devices of a process that can be traced */
    BUFFER_SIZE = 64 << 10, /* bytes, if no device recommends more: some 600 records */
    BUFFER_MAX = 16 << 20,  /* bytes; a device may recommend more */
    BUFFERS = 4096,         /* the most that the runtime may have at a time */
};

/* buffer_size is the size of new buffers, in bytes: the largest that a device has recommended. */
static size_t buffer_size = BUFFER_SIZE;

/* device is one device, with the runtime's functions for it. */
static struct device {
    ompt_device_t *handle;
    ompt_advance_buffer_cursor_t advance;
    ompt_get_record_type_t type;
    ompt_get_record_ompt_t record;
} devices[DEVICES];

/* buffer is memory for a runtime. No buffer is unmapped: one that is handed back twice still exists, but is empty. */
static struct buffer {
    char *memory;  /* size bytes */
    size_t size;   /* constant once memory is set */
    uint32_t lent; /* the runtime has it */
} buffers[BUFFERS];

/* on_request lends a buffer, of the recommended size or larger. The requested size (6.0: at most the recommended one)
 * is not read: before 6.0 it is not initialized. */
static void on_request(int device, ompt_buffer_t **buffer, size_t *bytes) {
    size_t size = __atomic_load_n(&buffer_size, __ATOMIC_RELAXED);
    (void)device;
    *buffer = NULL;
    *bytes = 0;
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++) {
        uint32_t no = 0;
        if (__atomic_load_n(&b->lent, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&b->lent, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        if (b->memory != NULL && b->size < size) { /* made before a device that recommends more */
            __atomic_store_n(&b->lent, 0, __ATOMIC_RELEASE);
            continue;
        }
        if (b->memory == NULL) {
            void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED) {
                __atomic_store_n(&b->lent, 0, __ATOMIC_RELEASE);
                return;
            }
            b->size = size;
            __atomic_store_n(&b->memory, (char *)p, __ATOMIC_RELEASE);
        }
        *buffer = b->memory;
        *bytes = b->size;
        return;
    }
}

/* find_lent returns the buffer that contains an address and that the runtime has. Where several devices share a buffer,
 * some runtimes hand over a part of it. */
static struct buffer *find_lent(const char *at) {
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++) {
        const char *memory = __atomic_load_n(&b->memory, __ATOMIC_ACQUIRE);
        if (memory == NULL || at < memory || at >= memory + b->size) continue;
        return __atomic_load_n(&b->lent, __ATOMIC_ACQUIRE) ? b : NULL;
    }
    return NULL;
}

static bool write_record(int device, const ompt_record_ompt_t *r) {
    struct slot s;
    if (r->type == 0 || r->type > ompt_callback_error) return false;
    if (!slot_open(&s, false, 1 + text_records(sizeof *r))) return true;
    slot_first(&s, RECORDER_DEVICE, (uint32_t)r->type, 0, (uint32_t)device, r->time, r->target_id);
    slot_text(&s, 1, (const char *)r, sizeof *r);
    slot_close(&s);
    return true;
}

/* write_outside_record writes a record that is outside of all buffers: a runtime may assemble it in its own memory. The
 * kernel reads it, so that unreadable memory is no fault. */
static bool write_outside_record(int device, const ompt_record_ompt_t *r) {
    ompt_record_ompt_t copy;
    struct iovec from = {(void *)r, sizeof copy}, to = {&copy, sizeof copy};
    return r != NULL && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof copy &&
           write_record(device, &copy);
}

/* walk writes the records of a buffer to the ring and returns the number of damaged ones: those that overlap another
 * one, are not completely in the part that was handed over, or have no type. bytes is the size of the buffer, as in
 * OpenMP, or that of the records from the first one on, as in AMD's runtime. */
static uint32_t walk(int number, const struct device *d, const struct buffer *b, ompt_buffer_t *buffer, size_t bytes,
                     ompt_buffer_cursor_t cursor) {
    uintptr_t memory = (uintptr_t)b->memory, last = memory + b->size, end = 0, taken = memory;
    uint32_t damaged = 0;
    for (size_t n = b->size / sizeof(uint64_t); n > 0; n--) {
        ompt_buffer_cursor_t next = cursor;
        if (d->type(buffer, cursor) == ompt_record_ompt) {
            const ompt_record_ompt_t *r = d->record(buffer, cursor);
            uintptr_t at = (uintptr_t)r;
            bool inside = at >= memory && at < last;
            if (inside && end == 0) end = bytes < last - at ? at + bytes : last;
            bool whole = at >= taken && at <= end && end - at >= sizeof *r && at % sizeof(uint64_t) == 0;
            if (inside ? whole && write_record(number, r) : write_outside_record(number, r))
                taken = inside ? at + sizeof *r : taken;
            else
                damaged++;
        }
        if (d->advance(d->handle, buffer, bytes, cursor, &next) == 0 || next == cursor) break;
        cursor = next;
    }
    return damaged;
}

/* find_device returns a device by its number. Some runtimes pass another device's number with their buffers. */
static const struct device *find_device(int device) {
    if (device >= 0 && device < DEVICES && devices[device].handle != NULL) return &devices[device];
    for (const struct device *d = devices; d < devices + DEVICES; d++)
        if (d->handle != NULL) return d;
    return NULL;
}

static void on_complete(int device, ompt_buffer_t *buffer, size_t bytes, ompt_buffer_cursor_t begin, int owned) {
    if (buffer == NULL) return;
    struct buffer *b = find_lent(buffer);
    const struct device *d = find_device(device);
    if (bytes > 0) {
        uint32_t damaged = b != NULL && d != NULL ? walk(device, d, b, buffer, bytes, begin) : 1;
        if (damaged > 0) record_one(RECORDER_DEVICE, 0, 0, (uint32_t)device, damaged, 0);
    }
    if (b == NULL || !owned) return;
    madvise(b->memory, b->size, MADV_DONTNEED);
    __atomic_store_n(&b->lent, 0, __ATOMIC_RELEASE);
}

/* set_buffer_size takes the buffer size that a device recommends (6.0), in whole pages. */
static void set_buffer_size(ompt_device_t *handle, ompt_get_buffer_limits_t limits) {
    int count = 0; /* of buffers that the runtime may have at a time */
    size_t bytes = 0, before = __atomic_load_n(&buffer_size, __ATOMIC_RELAXED);
    if (limits == NULL) return;
    limits(handle, &count, &bytes);
    if (bytes > BUFFER_MAX) bytes = BUFFER_MAX;
    bytes = (bytes + BUFFER_SIZE - 1) / BUFFER_SIZE * BUFFER_SIZE;
    while (bytes > before && !__atomic_compare_exchange_n(&buffer_size, &before, bytes, false, __ATOMIC_RELAXED,
                                                           __ATOMIC_RELAXED)) {
    }
}

void device_trace(int device, ompt_device_t *handle, ompt_function_lookup_t lookup) {
    const char *set = getenv("OMPD_RECORDER_DEVICES");
    if (set == NULL || *set != '1' || lookup == NULL || device < 0 || device >= DEVICES) return;
    ompt_set_trace_ompt_t choose = (ompt_set_trace_ompt_t)lookup("ompt_set_trace_ompt");
    ompt_start_trace_t start = (ompt_start_trace_t)lookup("ompt_start_trace");
    struct device d = {
        .handle = handle,
        .advance = (ompt_advance_buffer_cursor_t)lookup("ompt_advance_buffer_cursor"),
        .type = (ompt_get_record_type_t)lookup("ompt_get_record_type"),
        .record = (ompt_get_record_ompt_t)lookup("ompt_get_record_ompt"),
    };
    if (handle == NULL || start == NULL || d.advance == NULL || d.type == NULL || d.record == NULL) return;
    devices[device] = d;
    set_buffer_size(handle, (ompt_get_buffer_limits_t)lookup("ompt_get_buffer_limits"));
    if (choose != NULL) choose(handle, 1, 0); /* all types */
    start(handle, on_request, on_complete);
}
