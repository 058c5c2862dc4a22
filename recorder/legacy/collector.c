/* collector.c: Sun's collector API (omp_collector_api.h). The answers come from the calling thread's ring: its state,
 * its tasks, the regions that it has forked. Requests for states and ids are safe in signal handlers: they call no
 * functions. Events are sent when their record is written (slot_close).
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "../gomp.h"
#include "../recorder.h"
#include "omp_collector_api.h"

typedef void (*event_callback)(OMP_COLLECTORAPI_EVENT);

enum { EVENTS = OMP_EVENT_THR_END_ATWT + 1 };

static event_callback callbacks[EVENTS];
static uint32_t started, paused, over;
static uint32_t session; /* incremented when sending starts or stops: states that began before have no end event */

/* announced is the last state that the thread has announced in a session, or 0. */
static __thread struct {
    uint32_t state, session;
} announced __attribute__((tls_model("initial-exec")));

/* region_over reports whether a region has ended. Its id names the ring of the thread that forked it, whose table
 * contains the region until then. */
static bool region_over(uint64_t id) {
    uint64_t index = (id >> RECORDER_ID_SHIFT) - 1;
    if (recorder_head->ids != RECORDER_IDS_OURS || index >= RECORDER_RINGS_MAX) return false;
    uint64_t *directory = (uint64_t *)((char *)recorder_head + recorder_head->header_size);
    uint64_t address = __atomic_load_n(&directory[index], __ATOMIC_ACQUIRE);
    const struct recorder_ring *owner = (const struct recorder_ring *)address;
    if (owner == NULL || owner->regions > RECORDER_REGIONS_MAX) return false;
    for (uint32_t i = 0; i < owner->regions; i++)
        if (owner->region_table[i].b == id) return false;
    return true;
}

/* region_at returns the region of the thread's n-th task, 0 outside of regions, because the initial task has an id,
 * too. For tasks past the table's end, it uses the last task in the table. */
static uint64_t region_at(const struct recorder_ring *ring, uint32_t n) {
    if (n > RECORDER_TASKS_MAX) n = RECORDER_TASKS_MAX;
    if (n == 0) return 0;
    uint64_t id = ring->task_table[n - 1].parallel;
    bool initial = ring->type != ompt_thread_worker && recorder_head->ids != RECORDER_IDS_REGIONS;
    return initial && id == ring->task_table[0].parallel ? 0 : id;
}

static uint64_t outer_region(const struct recorder_ring *ring) { return region_at(ring, ring->tasks); }

/* forked_region returns the innermost region that the thread has forked, or 0. */
static uint64_t forked_region(const struct recorder_ring *ring) {
    uint32_t n = ring->regions;
    return n - 1 < RECORDER_REGIONS_MAX ? ring->region_table[n - 1].b : 0;
}

/* is_forking reports whether the thread has forked a region and has not entered it yet, or has left it already. */
static bool is_forking(const struct recorder_ring *ring) {
    uint64_t region = forked_region(ring);
    return region != 0 && !recorder_chained && region != outer_region(ring);
}

static OMP_COLLECTOR_API_THR_STATE thread_state(const struct recorder_ring *ring) {
    if (ring == NULL) return THR_SERIAL_STATE;
    bool worker = ring->type == ompt_thread_worker;
    uint32_t state = ring->state & ((1u << RECORDER_STATE_BITS) - 1);
    if (state == ompt_state_undefined) return worker ? THR_IDLE_STATE : THR_SERIAL_STATE;
    if (state < ompt_state_wait_barrier && is_forking(ring)) return THR_OVHD_STATE;
    switch (state) {
    case ompt_state_work_serial:
    case ompt_state_work_parallel: return outer_region(ring) == 0 ? THR_SERIAL_STATE : THR_WORK_STATE;
    case ompt_state_work_reduction: return THR_REDUC_STATE;
    case ompt_state_wait_barrier:
    case ompt_state_wait_barrier_explicit: return THR_EBAR_STATE;
    case ompt_state_wait_barrier_implicit_parallel:
    case ompt_state_wait_barrier_implicit: /* runtimes report its end late to a worker */
        return worker && region_over(outer_region(ring)) ? THR_IDLE_STATE : THR_IBAR_STATE;
    case ompt_state_wait_barrier_implicit_workshare:
    case ompt_state_wait_barrier_implementation:
    case ompt_state_wait_barrier_teams: return THR_IBAR_STATE;
    case ompt_state_wait_lock: return THR_LKWT_STATE;
    case ompt_state_wait_critical: return THR_CTWT_STATE;
    case ompt_state_wait_ordered: return THR_ODWT_STATE;
    case ompt_state_wait_atomic: return THR_ATWT_STATE;
    case ompt_state_idle: return worker ? THR_IDLE_STATE : THR_SERIAL_STATE;
    }
    return THR_OVHD_STATE; /* taskwait, taskgroup, target: the paper has no states for them */
}

/* wait_id returns the wait id of a state: that of the acquisition that began it, or the region of a barrier. */
static uint64_t wait_id(const struct recorder_ring *ring, OMP_COLLECTOR_API_THR_STATE state) {
    if (state == THR_IBAR_STATE || state == THR_EBAR_STATE) return outer_region(ring);
    if (state < THR_LKWT_STATE) return 0;
    const struct recorder_record *records = (const struct recorder_record *)ring->records;
    uint64_t at = ring->state >> RECORDER_STATE_BITS;
    const struct recorder_record *r = &records[at & ((UINT64_C(1) << ring->shift) - 1)];
    return r->code == ompt_callback_mutex_acquire ? r->b : 0;
}

static void send(uint32_t event) {
    event_callback callback = __atomic_load_n(&callbacks[event], __ATOMIC_ACQUIRE);
    if (callback != NULL) callback(event);
}

/* announce sends the end of the thread's last state and the beginning of its current one. */
static void announce(const struct recorder_ring *ring) {
    static const uint8_t begins[THR_LAST_STATE] = {
        [THR_IDLE_STATE] = OMP_EVENT_THR_BEGIN_IDLE, [THR_IBAR_STATE] = OMP_EVENT_THR_BEGIN_IBAR,
        [THR_EBAR_STATE] = OMP_EVENT_THR_BEGIN_EBAR, [THR_LKWT_STATE] = OMP_EVENT_THR_BEGIN_LKWT,
        [THR_CTWT_STATE] = OMP_EVENT_THR_BEGIN_CTWT, [THR_ODWT_STATE] = OMP_EVENT_THR_BEGIN_ODWT,
        [THR_ATWT_STATE] = OMP_EVENT_THR_BEGIN_ATWT,
    };
    uint32_t now = thread_state(ring), before = announced.session == session ? announced.state : 0;
    if (now == before) return;
    announced.state = now;
    announced.session = session;
    if (begins[before] != 0) send(begins[before] + 1); /* its end has the next number */
    if (begins[now] != 0) send(begins[now]);
}

static void send_events(const struct recorder_ring *ring, uint64_t word) {
    uint32_t code = word & 0xff, kind = word >> 8 & 0xff, endpoint = word >> 16 & 3;
    announce(ring);
    switch (code) {
    case ompt_callback_parallel_begin: send(OMP_EVENT_FORK); break;
    case ompt_callback_parallel_end: send(OMP_EVENT_JOIN); break;
    case ompt_callback_masked:
        if (endpoint & ompt_scope_begin) send(OMP_EVENT_THR_BEGIN_MASTER);
        if (endpoint & ompt_scope_end) send(OMP_EVENT_THR_END_MASTER);
        break;
    case ompt_callback_work:
        if (kind != ompt_work_single_executor) break;
        if (endpoint & ompt_scope_begin) send(OMP_EVENT_THR_BEGIN_SINGLE);
        if (endpoint & ompt_scope_end) send(OMP_EVENT_THR_END_SINGLE);
        break;
    case ompt_callback_mutex_acquired:
        if (kind == ompt_mutex_ordered) send(OMP_EVENT_THR_BEGIN_ORDERED);
        break;
    case ompt_callback_mutex_released:
        if (kind == ompt_mutex_ordered) send(OMP_EVENT_THR_END_ORDERED);
        break;
    }
}

/* entry is one request, in the collector's memory. */
struct entry {
    int32_t size, request, error, answer;
    char memory[];
};

/* update_listener starts or stops sending events after a change of its conditions. */
static void update_listener(void) {
    bool any = false;
    for (int i = 1; i < EVENTS; i++) any = any || __atomic_load_n(&callbacks[i], __ATOMIC_RELAXED) != NULL;
    any = any && started && !paused && !over;
    __atomic_fetch_add(&session, any != (recorder_listener != NULL), __ATOMIC_RELAXED);
    __atomic_store_n(&recorder_listener, any ? send_events : NULL, __ATOMIC_RELEASE);
}

/* runtime_start makes the runtime start, which then finds the recorder. It reports whether events can come. They cannot
 * if the runtime has started without the recorder, or if its tools are disabled. */
static bool runtime_start(void) {
    if (recorder_head != NULL) return true;
    int (*threads)(void);
    *(void **)&threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (threads == NULL) return true; /* no runtime is loaded yet */
    threads();
    return recorder_head != NULL || (dlsym(RTLD_NEXT, "GOMP_parallel") != NULL && gomp_ready());
}

static OMP_COLLECTORAPI_EC start(void) {
    uint32_t no = 0;
    if (!__atomic_compare_exchange_n(&started, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return OMP_ERRCODE_SEQUENCE_ERR;
    paused = 0;
    if (runtime_start()) return OMP_ERRCODE_OK;
    started = 0;
    return OMP_ERRCODE_SEQUENCE_ERR;
}

static void remove_callbacks(void) {
    for (int i = 1; i < EVENTS; i++) __atomic_store_n(&callbacks[i], NULL, __ATOMIC_RELEASE);
    update_listener();
}

static OMP_COLLECTORAPI_EC stop(void) {
    __atomic_store_n(&started, 0, __ATOMIC_RELEASE);
    remove_callbacks();
    return OMP_ERRCODE_OK;
}

/* at_exit handles collectors that do not stop. LLVM's runtime ends its workers after the destructors of preloaded
 * libraries, when the collector's callbacks are invalid. Destructors of collectors run after this one; their requests,
 * OMP_REQ_STOP included, are still answered. */
__attribute__((destructor)) static void at_exit(void) {
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    remove_callbacks();
}

static OMP_COLLECTORAPI_EC pause_events(uint32_t on) {
    paused = on;
    update_listener();
    return OMP_ERRCODE_OK;
}

/* sources are the callbacks that cause an event. */
static const uint8_t sources[EVENTS] = {
    [OMP_EVENT_FORK] = ompt_callback_parallel_begin,
    [OMP_EVENT_JOIN] = ompt_callback_parallel_end,
    [OMP_EVENT_THR_BEGIN_IDLE] = ompt_callback_implicit_task, ompt_callback_implicit_task,
    [OMP_EVENT_THR_BEGIN_IBAR] = ompt_callback_sync_region, ompt_callback_sync_region,
    [OMP_EVENT_THR_BEGIN_EBAR] = ompt_callback_sync_region, ompt_callback_sync_region,
    [OMP_EVENT_THR_BEGIN_LKWT] = ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
    [OMP_EVENT_THR_BEGIN_CTWT] = ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
    [OMP_EVENT_THR_BEGIN_ODWT] = ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
    [OMP_EVENT_THR_BEGIN_MASTER] = ompt_callback_masked, ompt_callback_masked,
    [OMP_EVENT_THR_BEGIN_SINGLE] = ompt_callback_work, ompt_callback_work,
    [OMP_EVENT_THR_BEGIN_ORDERED] = ompt_callback_mutex_acquired, ompt_callback_mutex_released,
    [OMP_EVENT_THR_BEGIN_ATWT] = ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
};

/* is_supported reports whether the program's runtime has an event. Master constructs do not call GNU's runtime. Atomic
 * constructs wait only where they are calls; most are instructions. */
static bool is_supported(uint32_t event) {
    if (recorder_head == NULL) return true;
    uint32_t code = sources[event];
    if ((recorder_head->events & CODE(code)) == 0) return false;
    if ((recorder_head->source & RECORDER_SOURCE_LIBGOMP) != 0 && code != ompt_callback_masked) return true;
    return recorder_head->registered[code] > ompt_set_impossible || recorder_head->ids >= RECORDER_IDS_REGIONS;
}

/* change_registration answers OMP_REQ_REGISTER and OMP_REQ_UNREGISTER. The compiler pads the space between the event
 * and the callback. Collectors that pack them without padding are recognized by the size. */
static OMP_COLLECTORAPI_EC change_registration(const struct entry *e, int32_t room) {
    enum { PACKED = sizeof(int32_t) + sizeof(void *), PADDED = 2 * sizeof(void *) };
    bool adds = e->request == OMP_REQ_REGISTER;
    int32_t event;
    event_callback callback = NULL;
    if (room < (adds ? PACKED : (int32_t)sizeof event)) return OMP_ERRCODE_ERROR;
    if (room >= PADDED && adds && (uintptr_t)e->memory % sizeof(void *) != 0) return OMP_ERRCODE_ERROR;
    memcpy(&event, e->memory, sizeof event);
    if (adds) memcpy(&callback, e->memory + (room >= PADDED ? sizeof(void *) : sizeof event), sizeof callback);
    if (event <= 0 || event >= EVENTS) return OMP_ERRCODE_UNKNOWN;
    if (adds && callback == NULL) return OMP_ERRCODE_ERROR;
    if (adds && !is_supported((uint32_t)event)) return OMP_ERRCODE_UNSUPPORTED;
    __atomic_store_n(&callbacks[event], callback, __ATOMIC_RELEASE);
    update_listener();
    return OMP_ERRCODE_OK;
}

/* write_answer writes an answer if there is room for it. */
static OMP_COLLECTORAPI_EC write_answer(struct entry *e, int32_t room, const void *answer, int32_t size) {
    if ((uintptr_t)e->memory % sizeof(uint64_t) != 0) return OMP_ERRCODE_ERROR;
    e->answer = size;
    if (room < size) return OMP_ERRCODE_MEM_TOO_SMALL;
    __builtin_memcpy(e->memory, answer, (size_t)size);
    return OMP_ERRCODE_OK;
}

static OMP_COLLECTORAPI_EC answer_state(struct entry *e, int32_t room) {
    struct recorder_ring *ring = recorder_mine;
    struct {
        int32_t state, reserved;
        uint64_t wait_id;
    } answer = {.state = thread_state(ring)};
    if (ring != NULL) answer.wait_id = wait_id(ring, answer.state);
    /* A collector that leaves no room for the wait id gets the state alone, and an error if there is a wait id. */
    if (room >= (int32_t)sizeof answer || room < (int32_t)sizeof answer.state)
        return write_answer(e, room, &answer, sizeof answer);
    OMP_COLLECTORAPI_EC error = write_answer(e, room, &answer, sizeof answer.state);
    if (error != OMP_ERRCODE_OK || answer.wait_id == 0) return error;
    e->answer = sizeof answer;
    return OMP_ERRCODE_MEM_TOO_SMALL;
}

static OMP_COLLECTORAPI_EC answer_current_region(struct entry *e, int32_t room) {
    struct recorder_ring *ring = recorder_mine;
    uint64_t id = 0;
    if (recorder_chained) return OMP_ERRCODE_UNSUPPORTED; /* with another tool, ids are used again */
    if (ring != NULL && thread_state(ring) != THR_IDLE_STATE)
        id = is_forking(ring) ? forked_region(ring) : outer_region(ring);
    return write_answer(e, room, &id, sizeof id);
}

/* answer_parent_region answers for the master of a team, which is the thread that has forked the region, and for the
 * initial thread. */
static OMP_COLLECTORAPI_EC answer_parent_region(struct entry *e, int32_t room) {
    struct recorder_ring *ring = recorder_mine;
    uint64_t id = 0;
    if (recorder_chained) return OMP_ERRCODE_UNSUPPORTED;
    uint64_t region = ring == NULL ? 0 : forked_region(ring);
    if (region == 0 && gettid() != getpid()) return OMP_ERRCODE_THREAD_ERR;
    if (region != 0 && is_forking(ring)) {
        id = outer_region(ring);
    } else if (region != 0) {
        uint32_t n = ring->tasks;
        while (n > 0 && region_at(ring, n) == region) n--;
        id = region_at(ring, n);
    }
    return write_answer(e, room, &id, sizeof id);
}

static OMP_COLLECTORAPI_EC answer_request(struct entry *e) {
    int32_t room = e->size - (int32_t)sizeof *e;
    if (e->request < 0 || e->request >= OMP_REQ_LAST) return OMP_ERRCODE_UNKNOWN;
    if (e->request == OMP_REQ_START) return start();
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return OMP_ERRCODE_SEQUENCE_ERR;
    switch (e->request) {
    case OMP_REQ_REGISTER:
    case OMP_REQ_UNREGISTER: return change_registration(e, room);
    case OMP_REQ_STATE: return answer_state(e, room);
    case OMP_REQ_CURRENT_PRID: return answer_current_region(e, room);
    case OMP_REQ_PARENT_PRID: return answer_parent_region(e, room);
    case OMP_REQ_STOP: return stop();
    default: return pause_events(e->request == OMP_REQ_PAUSE);
    }
}

exported int __omp_collector_api(void *arg) {
    struct entry *e = arg;
    if (arg == NULL || (uintptr_t)arg % sizeof(int32_t) != 0) return -1;
    for (; e->size != 0; e = (struct entry *)((char *)e + e->size)) {
        if (e->size < (int32_t)sizeof *e || e->size % (int32_t)sizeof(int32_t) != 0) return -1;
        e->answer = 0;
        e->error = (int32_t)answer_request(e);
    }
    return 0;
}
