/* device.c: what devices trace themselves (OpenMP 5.1, 4.2.5 and 4.6.2). The runtime asks for buffers, lets the device
 * fill them, and hands them back; each record goes into the ring of the thread that brings them. Runtimes of today are
 * not to be relied on here: buffers come back empty, records overlap or lie elsewhere, cursors stand, and a runtime that
 * is given no buffer may crash, and one that is asked to flush, hang. So nothing is flushed (the runtime does so itself
 * before it finalizes a device), and there is always a buffer.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "recorder.h"

enum {
    DEVICES = 64,           /* devices of a process that are traced */
    BUFFER_SIZE = 64 << 10, /* bytes: some 600 records */
    BUFFERS = 4096,         /* that the runtime may have at a time */
};

/* device is one of them, with the runtime's functions for it. */
static struct device {
    ompt_device_t *handle;
    ompt_advance_buffer_cursor_t advance;
    ompt_get_record_type_t type;
    ompt_get_record_ompt_t record;
} devices[DEVICES];

static uint32_t buffers; /* that the runtime has */

static void on_request(int device, ompt_buffer_t **buffer, size_t *bytes) {
    (void)device;
    *buffer = NULL;
    *bytes = 0;
    if (__atomic_add_fetch(&buffers, 1, __ATOMIC_RELAXED) <= BUFFERS) {
        void *p = mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p != MAP_FAILED) {
            *buffer = p;
            *bytes = BUFFER_SIZE;
            return;
        }
    }
    __atomic_sub_fetch(&buffers, 1, __ATOMIC_RELAXED);
}

static void keep(int device, const ompt_record_ompt_t *r) {
    struct slot s;
    if (!slot_open(&s, false, 1 + text_records(sizeof *r))) return;
    slot_first(&s, RECORDER_DEVICE, (uint32_t)r->type, 0, (uint32_t)device, r->time, r->target_id);
    slot_text(&s, 1, (const char *)r, sizeof *r);
    slot_close(&s);
}

/* walk keeps the records of a buffer, and returns how many of them could not be. A record that lies in what another one
 * has taken, or not wholly in the buffer, or that has no type, is none. */
static uint32_t walk(int number, const struct device *d, ompt_buffer_t *buffer, size_t bytes,
                     ompt_buffer_cursor_t cursor) {
    uintptr_t first = (uintptr_t)buffer, end = first + bytes, taken = first;
    uint32_t damaged = 0;
    for (size_t n = bytes / sizeof(uint64_t); n > 0; n--) {
        ompt_buffer_cursor_t next = cursor;
        if (d->type(buffer, cursor) == ompt_record_ompt) {
            const ompt_record_ompt_t *r = d->record(buffer, cursor);
            uintptr_t at = (uintptr_t)r;
            bool whole = at >= taken && at <= end && end - at >= sizeof *r && at % sizeof(uint64_t) == 0;
            if (whole && r->type > 0 && r->type <= ompt_callback_error) {
                keep(number, r);
                taken = at + sizeof *r;
            } else {
                damaged++;
            }
        }
        if (d->advance(d->handle, buffer, bytes, cursor, &next) == 0 || next == cursor) break;
        cursor = next;
    }
    return damaged;
}

static void on_complete(int device, ompt_buffer_t *buffer, size_t bytes, ompt_buffer_cursor_t begin, int owned) {
    if (buffer == NULL) return;
    if (bytes > BUFFER_SIZE) bytes = BUFFER_SIZE;
    if (bytes > 0 && device >= 0 && device < DEVICES && devices[device].handle != NULL) {
        uint32_t damaged = walk(device, &devices[device], buffer, bytes, begin);
        if (damaged > 0) record_one(RECORDER_DEVICE, 0, 0, (uint32_t)device, damaged, 0);
    }
    if (!owned) return;
    munmap(buffer, BUFFER_SIZE);
    __atomic_sub_fetch(&buffers, 1, __ATOMIC_RELAXED);
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
    if (choose != NULL) choose(handle, 1, 0); /* all types */
    start(handle, on_request, on_complete);
}
