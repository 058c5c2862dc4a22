//go:build ignore
/* target.c: the events of devices. Runtimes call one of two interfaces. The later one ("emi") reports beginnings and
 * ends, and has words for the tool in target regions and operations.
 */
#include "recorder.h"
#include "tables.h"

static void on_device_initialize(int device, const char *type, ompt_device_t *handle, ompt_function_lookup_t lookup,
                                 const char *documentation) {
    struct slot s;
    uint32_t kept = text_kept(type, RECORDER_TEXT_MAX);
    if (slot_open(&s, true, 1 + text_records(kept))) {
        slot_first(&s, ompt_callback_device_initialize, 0, 0, (uint32_t)device, (uint64_t)handle, lookup != NULL);
        slot_text(&s, 1, type, kept);
        slot_close(&s);
    }
    device_trace(device, handle, lookup);
    NEXT(device_initialize, device, type, handle, lookup, documentation);
}

static void on_device_finalize(int device) {
    record_rare(ompt_callback_device_finalize, 0, 0, (uint32_t)device, 0, 0);
    NEXT(device_finalize, device);
}

static void on_device_load(int device, const char *file, int64_t offset, void *vma, size_t bytes, void *host_addr,
                           void *device_addr, uint64_t module) {
    struct slot s;
    uint32_t kept = text_kept(file, RECORDER_TEXT_MAX);
    if (slot_open(&s, true, 2 + text_records(kept))) {
        slot_first(&s, ompt_callback_device_load, 0, 0, (uint32_t)device, (uint64_t)host_addr, (uint64_t)device_addr);
        slot_more(&s, 1, 0, bytes, (uint64_t)offset, module);
        slot_text(&s, 2, file, kept);
        slot_close(&s);
    }
    NEXT(device_load, device, file, offset, vma, bytes, host_addr, device_addr, module);
}

static void on_device_unload(int device, uint64_t module) {
    record_rare(ompt_callback_device_unload, 0, 0, (uint32_t)device, 0, module);
    NEXT(device_unload, device, module);
}

/* target_state sets the state of a thread in a target construct: kind 1 is target, 2 to 4 are data, and 9 to 12 the
 * same with nowait, for which the thread does not wait. */
inlined void target_state(struct slot *s, uint32_t kind, uint32_t endpoint) {
    if (endpoint == ompt_scope_end)
        state_set(s, state_work(s->ring));
    else if (endpoint == ompt_scope_begin && kind < 8)
        state_set(s, kind == 1 ? ompt_state_wait_target : kind == 4 ? ompt_state_wait_target_update
                                                                    : ompt_state_wait_target_map);
}

inlined void target_write(uint32_t event, uint32_t kind, uint32_t endpoint, int device, uint64_t task, uint64_t target,
                          const void *code) {
    struct slot s;
    if (!slot_open(&s, false, 2)) return;
    slot_first(&s, event, kind, endpoint, (uint32_t)device, recorder_address(code), target);
    slot_more(&s, 1, 0, 0, task, 0);
    target_state(&s, kind, endpoint);
    slot_close(&s);
}

static void on_target(int kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task, ompt_id_t target,
                      const void *code) {
    target_write(ompt_callback_target, (uint32_t)kind, endpoint, device, id_of(task), target, code);
    NEXT(target, kind, endpoint, device, task, target, code);
}

/* operation_new assigns an id to a target region or an operation that begins. */
inlined uint64_t operation_new(ompt_data_t *data, uint32_t endpoint) {
    struct recorder_ring *ring = recorder_mine;
    if (data == NULL || ring == NULL || endpoint == ompt_scope_end) return id_of(data);
    return id_give(data, recorder_id(ring, recorder_add(&ring->tasks_made, 1) + 1));
}

static void on_target_emi(int kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task,
                          ompt_data_t *target_task, ompt_data_t *target, const void *code) {
    uint64_t id = operation_new(target, endpoint);
    target_write(ompt_callback_target_emi, (uint32_t)kind, endpoint, device,
                 id_of(target_task != NULL ? target_task : task), id, code);
    NEXT(target_emi, kind, endpoint, device, task, target_task, target, code);
}

struct operation {
    uint32_t event, kind, endpoint;
    uint64_t target, id;
    void *source, *destination;
    int source_device, destination_device;
    size_t bytes;
    const void *code;
};

inlined void operation_write(const struct operation *op) {
    struct slot s;
    if (!slot_open(&s, false, 3)) return;
    slot_first(&s, op->event, op->kind, op->endpoint, (uint32_t)op->source_device, (uint64_t)op->source,
               (uint64_t)op->destination);
    slot_more(&s, 1, (uint32_t)op->destination_device, op->bytes, recorder_address(op->code), op->id);
    slot_more(&s, 2, 0, 0, op->target, 0);
    slot_close(&s);
}

static void on_target_data_op(ompt_id_t target, ompt_id_t id, int kind, void *source, int source_device,
                              void *destination, int destination_device, size_t bytes, const void *code) {
    operation_write(&(struct operation){ompt_callback_target_data_op, (uint32_t)kind, 0, target, id, source,
                                        destination, source_device, destination_device, bytes, code});
    NEXT(target_data_op, target, id, kind, source, source_device, destination, destination_device, bytes, code);
}

/* operation_id assigns an id to an operation that begins, in the runtime's word for it. */
inlined uint64_t operation_id(ompt_id_t *id, uint32_t endpoint) {
    struct recorder_ring *ring = recorder_mine;
    if (id == NULL) return 0;
    if (endpoint != ompt_scope_end && ring != NULL && !recorder_chained)
        *id = recorder_id(ring, recorder_add(&ring->tasks_made, 1) + 1);
    return *id;
}

static void on_target_data_op_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *target_task, ompt_data_t *target,
                                  ompt_id_t *id, int kind, void *source, int source_device, void *destination,
                                  int destination_device, size_t bytes, const void *code) {
    operation_write(&(struct operation){ompt_callback_target_data_op_emi, (uint32_t)kind, endpoint, id_of(target),
                                        operation_id(id, endpoint), source, destination, source_device,
                                        destination_device, bytes, code});
    NEXT(target_data_op_emi, endpoint, target_task, target, id, kind, source, source_device, destination,
         destination_device, bytes, code);
}

static void on_target_submit(ompt_id_t target, ompt_id_t id, unsigned teams) {
    record_one(ompt_callback_target_submit, 0, 0, teams, id, target);
    NEXT(target_submit, target, id, teams);
}

static void on_target_submit_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *target, ompt_id_t *id, unsigned teams) {
    record_one(ompt_callback_target_submit_emi, 0, endpoint, teams, operation_id(id, endpoint), id_of(target));
    NEXT(target_submit_emi, endpoint, target, id, teams);
}

/* map_write records one mapping in each further record. */
inlined void map_write(uint32_t event, uint64_t target, uint32_t n, void **host, void **device, size_t *bytes,
                       unsigned *flags, const void *code) {
    struct slot s;
    uint32_t kept = n > RECORDER_FOLLOW_MAX ? RECORDER_FOLLOW_MAX : n;
    if (!slot_open(&s, false, 1 + kept)) return;
    slot_first(&s, event, 0, kept < n ? RECORDER_CUT : 0, n, recorder_address(code), target);
    for (uint32_t i = 0; i < kept; i++)
        slot_more(&s, 1 + i, flags != NULL ? flags[i] : 0, host != NULL ? (uint64_t)host[i] : 0,
                  device != NULL ? (uint64_t)device[i] : 0, bytes != NULL ? bytes[i] : 0);
    slot_close(&s);
}

static void on_target_map(ompt_id_t target, unsigned n, void **host, void **device, size_t *bytes, unsigned *flags,
                          const void *code) {
    map_write(ompt_callback_target_map, target, n, host, device, bytes, flags, code);
    NEXT(target_map, target, n, host, device, bytes, flags, code);
}

static void on_target_map_emi(ompt_data_t *target, unsigned n, void **host, void **device, size_t *bytes,
                              unsigned *flags, const void *code) {
    map_write(ompt_callback_target_map_emi, id_of(target), n, host, device, bytes, flags, code);
    NEXT(target_map_emi, target, n, host, device, bytes, flags, code);
}

const ompt_callback_t recorder_target[64] = {
    CALLBACK(device_initialize), CALLBACK(device_finalize), CALLBACK(device_load),        CALLBACK(device_unload),
    CALLBACK(target),            CALLBACK(target_emi),      CALLBACK(target_data_op),     CALLBACK(target_data_op_emi),
    CALLBACK(target_submit),     CALLBACK(target_map),      CALLBACK(target_submit_emi),  CALLBACK(target_map_emi),
};
