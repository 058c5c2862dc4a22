//go:build ignore
/* gomp_doacross.c: iterations of loops that wait for others (ordered with depend) on GNU's runtime, as OMPT tells them:
 * a list of dependences of the task that the thread is in, with the number of the iteration in each of the loops (see
 * gomp.c). A post is recorded before it is made, so that it is before those that wait for it; a wait when it is over. */
#include "gomp.h"

enum { DIMENSIONS_MAX = 24, IN_REGISTERS = 6 };

/* tell tells of the iteration with the numbers at counts. */
static void tell(const long *counts, int type) {
    struct frame *f = gomp_frame();
    ompt_dependence_t list[DIMENSIONS_MAX];
    int n = f->dimensions < DIMENSIONS_MAX ? (int)f->dimensions : DIMENSIONS_MAX;
    for (int i = 0; i < n; i++)
        list[i] = (ompt_dependence_t){.variable.value = (uint64_t)counts[i], .dependence_type = type};
    TELL(dependences, &f->task, list, n);
}

/* POST has the function that says that an iteration has come to its depend(source). */
#define POST(name)                                                \
    exported void name(long *counts) {                              \
        REAL(name);                                               \
        if (gomp_ready()) tell(counts, ompt_dependence_type_source);            \
        real(counts);                                             \
    }

/* WAIT has the function that waits for one. It has a number for each loop, and passes as many on as it may have: those
 * that it does not have are not looked at. */
#define WAIT(name)                                                                                                    \
    exported void name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l,  \
                     long m, long n, long o, long p, long q, long r, long s, long t, long u, long v, long w,          \
                     long x) {                                                                                        \
        static void (*found)(long, ...);                                                                              \
        void (*real)(long, ...) = __atomic_load_n(&found, __ATOMIC_RELAXED);                                          \
        if (rarely(real == NULL)) {                                                                                   \
            *(void **)&real = gomp_find(#name);                                                                       \
            __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                                         \
        }                                                                                                             \
        if (!gomp_ready()) {                                                                                          \
            real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);                             \
            return;                                                                                                   \
        }                                                                                                             \
        if (gomp_frame()->dimensions <= IN_REGISTERS) {                                                               \
            real(a, b, c, d, e, f);                                                                                   \
            tell((long[]){a, b, c, d, e, f}, ompt_dependence_type_sink);                                                            \
            return;                                                                                                   \
        }                                                                                                             \
        real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);                                 \
        tell((long[]){a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x}, ompt_dependence_type_sink);          \
    }

POST(GOMP_doacross_post)
POST(GOMP_doacross_ull_post)
WAIT(GOMP_doacross_wait)
WAIT(GOMP_doacross_ull_wait)
