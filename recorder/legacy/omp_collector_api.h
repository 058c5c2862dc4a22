/* omp_collector_api.h: the interface of "An OpenMP Runtime API for Profiling" (Sun Microsystems, 2007; a white paper
 * of the OpenMP ARB). A collector queries the state of threads by it, and registers for events. The recorder implements
 * it (collector.c). Numbers and names are the paper's.
 *
 * A request is a sequence of entries, each with a header of four 32-bit integers. A size of 0 ends the sequence:
 *
 *   sz  bytes of the entry, the header's 16 included; a multiple of 4
 *   r   OMP_COLLECTORAPI_REQUEST
 *   ec  OMP_COLLECTORAPI_EC, set by the answer
 *   rsz bytes of the answer in mem; with OMP_ERRCODE_MEM_TOO_SMALL, the bytes that it needs
 *   mem arguments and answer
 */
#ifndef OMP_COLLECTOR_API_H
#define OMP_COLLECTOR_API_H

#ifdef __cplusplus
extern "C" {
#endif

/* The name to look up in the dynamic linker: int __omp_collector_api(void *arg). It returns 0 if all entries were
 * answered, perhaps with errors, and -1 if one was not an entry. */
#define OMP_COLLECTOR_API "__omp_collector_api"

typedef enum {
    OMP_REQ_START = 0,
    OMP_REQ_REGISTER = 1,     /* {OMP_COLLECTORAPI_EVENT, void (*)(OMP_COLLECTORAPI_EVENT)} */
    OMP_REQ_UNREGISTER = 2,   /* {OMP_COLLECTORAPI_EVENT} */
    OMP_REQ_STATE = 3,        /* answers {OMP_COLLECTOR_API_THR_STATE, void *wait_id}; safe in signal handlers */
    OMP_REQ_CURRENT_PRID = 4, /* answers uint64_t, 0 outside of regions; safe in signal handlers */
    OMP_REQ_PARENT_PRID = 5,  /* answers uint64_t, 0 for an outermost region; for the master of a team */
    OMP_REQ_STOP = 6,
    OMP_REQ_PAUSE = 7,
    OMP_REQ_RESUME = 8,
    OMP_REQ_LAST
} OMP_COLLECTORAPI_REQUEST;

typedef enum {
    OMP_ERRCODE_OK = 0,
    OMP_ERRCODE_ERROR = 1,        /* mem has a wrong size or alignment */
    OMP_ERRCODE_UNKNOWN = 2,      /* unknown request or event */
    OMP_ERRCODE_UNSUPPORTED = 3,  /* known, but not supported here */
    OMP_ERRCODE_SEQUENCE_ERR = 4, /* wrong order: before the start, or a second start */
    OMP_ERRCODE_OBSOLETE = 5,     /* unused: no request is obsolete */
    OMP_ERRCODE_THREAD_ERR = 6,   /* not available in this thread */
    OMP_ERRCODE_MEM_TOO_SMALL = 7,
    OMP_ERRCODE_LAST
} OMP_COLLECTORAPI_EC;

typedef enum {
    OMP_EVENT_FORK = 1,
    OMP_EVENT_JOIN = 2,
    OMP_EVENT_THR_BEGIN_IDLE = 3,
    OMP_EVENT_THR_END_IDLE = 4,
    OMP_EVENT_THR_BEGIN_IBAR = 5,
    OMP_EVENT_THR_END_IBAR = 6,
    OMP_EVENT_THR_BEGIN_EBAR = 7,
    OMP_EVENT_THR_END_EBAR = 8,
    OMP_EVENT_THR_BEGIN_LKWT = 9,
    OMP_EVENT_THR_END_LKWT = 10,
    OMP_EVENT_THR_BEGIN_CTWT = 11,
    OMP_EVENT_THR_END_CTWT = 12,
    OMP_EVENT_THR_BEGIN_ODWT = 13,
    OMP_EVENT_THR_END_ODWT = 14,
    OMP_EVENT_THR_BEGIN_MASTER = 15,
    OMP_EVENT_THR_END_MASTER = 16,
    OMP_EVENT_THR_BEGIN_SINGLE = 17,
    OMP_EVENT_THR_END_SINGLE = 18,
    OMP_EVENT_THR_BEGIN_ORDERED = 19,
    OMP_EVENT_THR_END_ORDERED = 20,
    OMP_EVENT_THR_BEGIN_ATWT = 21,
    OMP_EVENT_THR_END_ATWT = 22,
    OMP_EVENT_THR_RESERVED_IMPL = 4096, /* first event of an implementation; the recorder has no such event */
    OMP_EVENT_LAST
} OMP_COLLECTORAPI_EVENT;

typedef enum {
    THR_OVHD_STATE = 1,   /* overhead of the runtime: it forms a team, or waits for tasks */
    THR_WORK_STATE = 2,
    THR_IBAR_STATE = 3,   /* implicit barrier */
    THR_EBAR_STATE = 4,   /* explicit barrier */
    THR_IDLE_STATE = 5,   /* a worker outside of regions */
    THR_SERIAL_STATE = 6, /* outside of regions */
    THR_REDUC_STATE = 7,
    THR_LKWT_STATE = 8,   /* waits for a lock */
    THR_CTWT_STATE = 9,   /* for a critical construct */
    THR_ODWT_STATE = 10,  /* for an ordered construct */
    THR_ATWT_STATE = 11,  /* for an atomic construct */
    THR_LAST_STATE
} OMP_COLLECTOR_API_THR_STATE;

int __omp_collector_api(void *arg);

#ifdef __cplusplus
}
#endif

#endif
