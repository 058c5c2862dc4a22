/* wire.h: the messages between the library and its helper, the program `ompd-inspect libompd`.
 *
 * Both run on one machine, so integers have its byte order. A message is a struct wire_message, followed by `size`
 * bytes. The library sends a call. The helper may request callbacks of the tool while it works, and gets an answer to
 * each request; then it sends the return. internal/front/clib/wire.go has the same numbers; a test compares them.
 */
#ifndef OMPD_INSPECT_WIRE_H
#define OMPD_INSPECT_WIRE_H

#include <stdint.h>

enum {
    WIRE_VERSION = 2,     /* of this file; the first word of the helper's greeting */
    WIRE_WORDS = 6,       /* in every message */
    WIRE_PIECES = 64,     /* of memory in one request, at most */
    WIRE_BYTES = 64 << 10 /* after a message, at most */
};

struct wire_message {
    uint32_t kind, size;
    uint64_t word[WIRE_WORDS];
};

/* The helper's messages, and the answers to its requests. */
enum {
    WIRE_HELLO = 1, /* version; bytes: a text for users */
    WIRE_RETURN,    /* return code, results; bytes: a text or several, each ended by a NUL */
    WIRE_READ,      /* segment, address, size → return code; bytes: the memory */
    WIRE_SYMBOL,    /* bytes: name NUL file NUL → return code, segment, address */
    WIRE_ANSWER,
    WIRE_READS      /* number of pieces; bytes: the address and size of each → return code, number of pieces before
                       the first that failed; bytes: their memory */
};

/* A piece of memory, in WIRE_READS. */
struct wire_piece {
    uint64_t segment, address, size;
};

/* Calls. The first two words are the address space and the address in the handle, the third is the nesting level in the
 * handle. */
enum {
    WIRE_PROCESS = 64,        /* version of the interface → address space */
    WIRE_RELEASE,             /* address space */
    WIRE_OMP_VERSION,         /* → version */
    WIRE_OMP_VERSION_STRING,  /* → bytes */
    WIRE_THREAD_ID_KINDS,     /* → number of pairs of kind and size, two at most */
    WIRE_THREAD_HANDLE,       /* kind; bytes: identifier → handle */
    WIRE_THREAD_ID,           /* handle, kind, size → bytes */
    WIRE_THREAD_IN_PARALLEL,  /* handle, number → handle */
    WIRE_CURR_PARALLEL,       /* handle → handle, as in the next calls */
    WIRE_ENCLOSING_PARALLEL,
    WIRE_TASK_PARALLEL,
    WIRE_CURR_TASK,
    WIRE_GENERATING_TASK,
    WIRE_SCHEDULING_TASK,
    WIRE_TASK_IN_PARALLEL,    /* handle, number → handle */
    WIRE_TASK_FUNCTION,       /* handle → segment, address */
    WIRE_TASK_FRAME,          /* handle → exit frame: address, flag; enter frame: address, flag */
    WIRE_NEXT_STATE,          /* state → next state, 1 if there are more; bytes: its name */
    WIRE_STATE,               /* handle → state, wait identifier */
    WIRE_CONTROL_VARS,        /* → number; bytes: the texts */
    WIRE_NEXT_ICV,            /* number → next number, scope, 1 if there are more; bytes: its name */
    WIRE_ICV,                 /* handle, scope, number → value */
    WIRE_ICV_STRING,          /* handle, scope, number → bytes */
    WIRE_TOOL_DATA            /* handle, scope → value */
};

#endif
