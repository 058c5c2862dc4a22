/* format.h: the records that the recorder leaves in the memory of a program, version 1.
 * docs/internals/recorder.md describes them for readers.
 *
 * All numbers have the byte order of the machine. A reader of version 1 must refuse other versions. Sizes are in bytes,
 * times in ticks of recorder_header.clock; reserved fields are 0. Assertions at the end check the structures.
 */
#ifndef OMPD_RECORDER_FORMAT_H
#define OMPD_RECORDER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* The header is in a private mapping of a memory file with this name: "/memfd:ompd-recorder (deleted)" in
 * /proc/PID/maps and in the list of files of a core. */
#define RECORDER_NAME "ompd-recorder"
#define RECORDER_MAGIC "\x7fOMPDREC\r\n\x1a\0\0\0\0" /* 16 bytes with the terminating zero */
#define RECORDER_VERSION 1
#define RECORDER_BYTE_ORDER UINT64_C(0x0102030405060708)

enum {
    RECORDER_HEADER_SIZE = 4096,
    RECORDER_RINGS_MAX = 16384,     /* rings in the directory, which follows the header */
    RECORDER_RECORD_SIZE = 32,      /* of each record */
    RECORDER_RING_HEADER = 2048,    /* before the records of a ring */
    RECORDER_RECORDS_MIN = 128,     /* records in the smallest main ring, 4 KiB */
    RECORDER_RECORDS_MAX = 1 << 20, /* in the largest main ring, 32 MiB */
    RECORDER_RARE_MIN = 64,         /* records in the smallest ring of rare events; else an eighth of the main ring */
    RECORDER_FOLLOW_MAX = 15,       /* records that continue one event */
    RECORDER_HELD_MAX = 16,         /* kept acquisitions of locks of a thread */
    RECORDER_REGIONS_MAX = 8,       /* kept forks of open regions of a thread */
    RECORDER_TASKS_MAX = 24,        /* kept states of nested tasks of a thread */
    RECORDER_TEXT_MAX = 256         /* bytes of a text (an error's message, a device's type) that are kept */
};

/* recorder_record is one event, or the continuation of one (code RECORDER_MORE). docs/internals/recorder.md lists the
 * meaning of kind, value, a and b for each code. */
struct recorder_record {
    uint64_t time; /* of the recorder's clock; it increases strictly within a thread */
    uint8_t code;  /* 1 to 63: the value of ompt_callbacks_t; 64 and more: enum recorder_code; 0: never written */
    uint8_t kind;
    uint8_t flags; /* enum recorder_flags */
    uint8_t lap;   /* how often the ring was full before, modulo 256 */
    uint32_t value;
    uint64_t a, b;
};

enum recorder_code {
    RECORDER_MORE = 64,   /* continues the record before it: the event defines time, value, a and b */
    RECORDER_THREAD = 65, /* a thread takes the ring: value its LWP, a its pthread_t, b the ring's epoch */
    RECORDER_FORK = 66,   /* in the child of a fork: value its pid, a the parent's, b the generation */
    RECORDER_MARK = 67,   /* omp_control_tool(RECORDER_COMMAND_MARK, n, NULL): a the code address, b the number n */
    RECORDER_DEVICE = 68, /* a record that a device has traced: kind its type, value the device, a the time on the
                             device, b the target region's id; then the bytes of ompt_record_ompt_t. With kind 0, a is
                             the number of damaged records of a buffer. */
    RECORDER_IDLE = 69,    /* before OpenMP 5.0: a thread starts or stops idling outside of regions; b is its id */
    RECORDER_SHUTDOWN = 70 /* before OpenMP 5.0: the runtime shuts down */
};

/* RECORDER_COMMAND_MARK is the command of omp_control_tool that writes a mark. The standard defines 1 to 4. */
#define RECORDER_COMMAND_MARK 64

enum recorder_flags {
    RECORDER_BEGIN = 1,    /* endpoint, two bits: the values of ompt_scope_endpoint_t, 3 for both */
    RECORDER_END = 2,
    RECORDER_FOLDED = 4,   /* a sync_region that includes its sync_region_wait, as both begin and end together; or a
                              task_create by the thread's current task, without its record MORE; or a single
                              dependence: kind is its type, b its variable */
    RECORDER_CUT = 8,      /* the list or text was truncated */
    RECORDER_FOLLOW = 16   /* the upper four bits: the number of records that continue this one */
};

/* Code addresses are the lower 48 bits of a. In records of work, dispatch, masked, sync_region and reduction the upper
 * 16 bits are those of the parallel region's id, and value is its lower 32 bits. Where the ids of regions are not the
 * recorder's (enum recorder_ids), the upper 16 bits are bits 32 to 47 of the id, so that an address fits. */
#define RECORDER_ADDRESS_BITS 48
#define RECORDER_ADDRESS_MASK ((UINT64_C(1) << RECORDER_ADDRESS_BITS) - 1)

/* An id is unique in its process: the number of the ring that made it plus 1 in the upper 16 bits, and in the lower
 * bits a count that starts at 1. The count of parallel regions starts again after 2^32 - 1. An id of 0 is unset. enum
 * recorder_ids lists other kinds of ids. */
#define RECORDER_ID_SHIFT 48

/* enum recorder_clock is the unit of times. */
enum recorder_clock {
    RECORDER_CLOCK_TSC = 1,       /* x86-64's time stamp counter, which has a constant rate */
    RECORDER_CLOCK_MONOTONIC = 2, /* nanoseconds of CLOCK_MONOTONIC */
    RECORDER_CLOCK_CNTVCT = 3     /* aarch64's virtual counter */
};

/* recorder_moment is one instant by two clocks. */
struct recorder_moment {
    uint64_t ticks;     /* recorder_header.clock */
    uint64_t monotonic; /* nanoseconds of CLOCK_MONOTONIC */
};

enum recorder_life {
    RECORDER_LIFE_FREE = 0,     /* no thread has used the ring */
    RECORDER_LIFE_THREAD = 1,   /* its thread is alive and writes */
    RECORDER_LIFE_ENDED = 2,    /* its thread has ended; the records stay until a new thread takes the ring */
    RECORDER_LIFE_INHERITED = 3 /* belongs to a thread of the parent process: history up to the fork */
};

/* recorder_task is a task that a thread executes or has interrupted, with the state of the thread in it. */
struct recorder_task {
    uint64_t task;     /* id */
    uint64_t parallel; /* id of the region that the thread is in */
    uint64_t state;    /* as recorder_ring.state */
    uint64_t among;    /* for the recorder: bits of this task and of those around it */
};

/* A state is a value of ompt_state_t in the lower 16 bits. The upper bits are the number of the record in the main ring
 * that began it, modulo 2^48. */
#define RECORDER_STATE_BITS 16

/* recorder_cursor counts the records of a ring. A writer adds to begun, writes, and then adds the same to head. */
struct recorder_cursor {
    uint64_t begun, head;
};

/* recorder_ring is the header of a thread's two rings. Only its thread writes it. */
struct recorder_ring {
    struct recorder_cursor main;
    uint64_t records;      /* address of the main ring */
    uint64_t last;         /* time of the newest record */
    uint64_t state;        /* the current state of the thread */
    uint64_t recalibrate;  /* when the thread compares the clocks again, in ticks */
    uint32_t shift;        /* the main ring has 1 << shift records */
    uint32_t rare_shift;   /* the other has 1 << rare_shift */
    uint64_t dropped;      /* events that were not recorded, because a signal handler interrupted the recorder */

    struct recorder_cursor rare;
    uint64_t rare_records; /* address of the ring of rare events */
    uint64_t tasks_made;   /* ids of tasks, threads and operations that were assigned */
    uint64_t regions_made; /* ids of parallel regions */
    struct recorder_moment moment; /* the last one that this thread has measured */
    uint64_t thread_id;    /* the value of the thread's ompt_data_t, 0 if unset */

    uint32_t life;         /* enum recorder_life */
    uint32_t tid;          /* LWP of the thread */
    uint32_t index;        /* of the ring in the directory */
    uint32_t epoch;        /* threads that had the ring before */
    uint64_t base;         /* the thread's first record in the main ring, and in the other */
    uint64_t rare_base;
    uint32_t previous_tid; /* of the thread before, 0 none */
    uint32_t type;         /* ompt_thread_t, 0 unknown */
    uint64_t pthread;      /* pthread_t of the thread */
    uint64_t size;         /* of this header and both rings */
    uint64_t foreign;      /* releases of locks that are not in the table below: another thread had acquired them, or
                              this one before recording started */

    /* Numbers of entries of the tables below. Entries past a table's end are counted only. */
    uint32_t held, regions, tasks;
    uint32_t reserved1;
    uint64_t reserved2[6];

    struct recorder_record held_table[RECORDER_HELD_MAX];      /* mutex_acquired of the locks that it holds, oldest
                                                                  first */
    struct recorder_record region_table[RECORDER_REGIONS_MAX]; /* parallel_begin of the regions that it has forked */
    struct recorder_task task_table[RECORDER_TASKS_MAX];       /* outermost first; the last is the current one */
    uint64_t words[RECORDER_TASKS_MAX]; /* for the recorder, by task of task_table: the address of the runtime's word
                                           for it while that is empty, or the id of the taskwait with dependences that
                                           the task is in (taskwords.h) */
    uint64_t reserved3[8];
};

/* recorder_header is the first page of the mapping. The directory follows: addresses of rings (struct recorder_ring),
 * as many as rings. An address of 0 belongs to a ring that is being made. */
struct recorder_header {
    char magic[16];          /* RECORDER_MAGIC, written last */
    uint32_t version;        /* RECORDER_VERSION */
    uint32_t header_size;    /* RECORDER_HEADER_SIZE: the offset of the directory */
    uint32_t record_size;    /* RECORDER_RECORD_SIZE */
    uint32_t ring_header;    /* RECORDER_RING_HEADER: the least offset of the records of a ring */
    uint64_t byte_order;     /* RECORDER_BYTE_ORDER */
    uint32_t pid;            /* of the process; if it differs, the process was cloned without the recorder's
                                knowledge */
    uint32_t parent;         /* of the process that it was forked from, 0 if it was not */
    uint32_t generation;     /* forks between the process that started the recorder and this one */
    uint32_t clock;          /* enum recorder_clock */
    uint64_t frequency;      /* ticks per second by the processor's own information, 0 unknown */
    struct recorder_moment start; /* the start of the recorder */
    uint64_t realtime;       /* nanoseconds of CLOCK_REALTIME at the start */
    uint64_t arena;          /* address of the memory of the rings */
    uint64_t arena_size;     /* the limit, OMPD_RECORDER_MEMORY */
    uint64_t arena_used;     /* bytes of it that are used by rings; ≤ arena_size */
    uint32_t rings;          /* in the directory, ≤ RECORDER_RINGS_MAX */
    uint32_t paused;         /* not 0: omp_control_tool has paused or ended recording */
    uint64_t unrecorded;     /* threads for which no ring was left, since the start */
    uint64_t events;         /* mask of the codes that are recorded: bit n is code n */
    uint32_t omp_version;    /* the argument of ompt_start_tool: the date of the standard, yyyymm */
    uint32_t source;         /* enum recorder_source, one or both */
    char runtime[128];       /* the runtime's version string, cut, ends with 0 */
    char library[64];        /* the recorder's version, ends with 0 */
    int8_t registered[64];   /* by code: the result of ompt_set_callback (ompt_set_result_t); -1 if it was not called */
    uint32_t ids;            /* enum recorder_ids */
    uint32_t reserved;
    uint64_t resumed;        /* when omp_control_tool last resumed recording, in ticks; 0 never. Older entries of tables
                                may have ended in the pause. */
};

/* enum recorder_ids is the kind of ids. */
enum recorder_ids {
    RECORDER_IDS_OURS = 1,   /* as RECORDER_ID_SHIFT describes, and the value of ompt_data_t */
    RECORDER_IDS_REGIONS = 3, /* as 1, but the ids of regions are the runtime's (OMPT of 2013) */
    RECORDER_IDS_RUNTIME = 4, /* all ids are the runtime's (OMPT before 5.0, version 2) */
    RECORDER_IDS_ADDRESS = 2 /* addresses of ompt_data_t, whose value belongs to another tool: they are used again */
};

/* enum recorder_source is the source of events, one bit each. */
enum recorder_source {
    RECORDER_SOURCE_OMPT = 1,   /* callbacks of the runtime */
    RECORDER_SOURCE_LIBGOMP = 2 /* calls of GOMP_ and omp_ functions, which the library intercepts */
};

_Static_assert(sizeof(RECORDER_MAGIC) == 16, "the magic has 16 bytes");
_Static_assert(sizeof(struct recorder_record) == RECORDER_RECORD_SIZE, "records have 32 bytes");
_Static_assert(offsetof(struct recorder_ring, rare) == 64, "the counters of the main ring have a cache line");
_Static_assert(offsetof(struct recorder_ring, held_table) == 256, "tables begin at 256");
_Static_assert(sizeof(struct recorder_ring) == RECORDER_RING_HEADER, "a ring's header has 2048 bytes");
_Static_assert(sizeof(struct recorder_header) <= RECORDER_HEADER_SIZE, "the header is a page");

#endif
