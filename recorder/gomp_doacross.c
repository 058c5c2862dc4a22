//go:build ignore
/* gomp_doacross.c: doacross loops (ordered with depend) on GNU's runtime. As in OMPT, an event is a list of dependences
 * of the current task, with the number of the iteration in each of the loops (see gomp.c). A post is recorded before it
 * is made, so that it precedes the waits for it; a wait is recorded when it is over. */
#include "gomp.h"

enum { DIMENSIONS_MAX = 24, IN_REGISTERS = 6 };

/* record_iteration records the iteration with these numbers. */
static void record_iteration(const long *counts, int type) {
    struct frame *f = gomp_frame();
    ompt_dependence_t list[DIMENSIONS_MAX];
    int n = f->dimensions < DIMENSIONS_MAX ? (int)f->dimensions : DIMENSIONS_MAX;
    for (int i = 0; i < n; i++)
        list[i] = (ompt_dependence_t){.variable.value = (uint64_t)counts[i], .dependence_type = type};
    EMIT(dependences, &f->task, list, n);
}

/* POST defines the function that reports that an iteration has reached its depend(source). */
#define POST(name)                                                               \
    exported void name(long *counts) {                                           \
        REAL(name);                                                              \
        if (gomp_ready()) record_iteration(counts, ompt_dependence_type_source); \
        real(counts);                                                            \
    }

/* WAIT defines the function that waits for an iteration. Its variable arguments are one number for each loop. WAIT
 * passes on the maximum number; the function ignores the others. */
#define WAIT(name)                                                                                                     \
    exported void name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, \
                     long m, long n, long o, long p, long q, long r, long s, long t, long u, long v, long w,           \
                     long x) {                                                                                         \
        static void (*found)(long, ...);                                                                               \
        void (*real)(long, ...) = __atomic_load_n(&found, __ATOMIC_RELAXED);                                           \
        if (rarely(real == NULL)) {                                                                                    \
            *(void **)&real = gomp_find(#name);                                                                        \
            __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                                          \
        }                                                                                                              \
        if (!gomp_ready()) {                                                                                           \
            real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);                              \
            return;                                                                                                    \
        }                                                                                                              \
        if (gomp_frame()->dimensions <= IN_REGISTERS) {                                                                \
            real(a, b, c, d, e, f);                                                                                    \
            record_iteration((long[]){a, b, c, d, e, f}, ompt_dependence_type_sink);                                   \
            return;                                                                                                    \
        }                                                                                                              \
        real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);                                  \
        record_iteration((long[]){a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x},             \
                         ompt_dependence_type_sink);                                                                   \
    }

POST(GOMP_doacross_post)
POST(GOMP_doacross_ull_post)
WAIT(GOMP_doacross_wait)
WAIT(GOMP_doacross_ull_wait)
