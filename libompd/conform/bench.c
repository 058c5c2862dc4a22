/* bench.c: calls per second, with the same callbacks for every library. */
#include <stdlib.h>
#include <time.h>

#include "conform.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* MEASURE prints the cost of one repeated expression. */
#define MEASURE(name, ...) \
    do { \
        long before = s->tool->calls, read = s->tool->bytes_read; \
        double start = now(); \
        for (long i = 0; i < rounds; i++) { __VA_ARGS__; } \
        double took = now() - start; \
        printf("%s %.0f calls/s, %.1f callbacks, %.0f bytes\n", name, (double)rounds / took, \
               (double)(s->tool->calls - before) / (double)rounds, (double)(s->tool->bytes_read - read) / (double)rounds); \
    } while (0)

void bench(struct suite *s, long rounds) {
    ompd_address_space_handle_t *space;
    ompd_thread_handle_t *thread, *th;
    ompd_parallel_handle_t *region, *outer;
    ompd_task_handle_t *task;
    ompd_word_t word;
    ompd_wait_id_t wait;
    const struct thread_fact *t = &s->facts->thread[0];
    while (t->idle || !t->openmp) t++;
    double start = now();
    if (s->api->ompd_initialize(201811, &callbacks) || s->api->ompd_process_initialize(context(0), &space)) exit(2);
    printf("initialize %.1f ms, %ld callbacks, %ld bytes\n", 1e3 * (now() - start), s->tool->calls, s->tool->bytes_read);
    if (s->api->ompd_get_thread_handle(space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread) ||
        s->api->ompd_get_curr_parallel_handle(thread, &region))
        exit(2);
    MEASURE("ompd_get_thread_handle", s->api->ompd_get_thread_handle(space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &th);
            s->api->ompd_rel_thread_handle(th));
    MEASURE("ompd_get_curr_parallel_handle", s->api->ompd_get_curr_parallel_handle(thread, &outer); s->api->ompd_rel_parallel_handle(outer));
    MEASURE("ompd_get_curr_task_handle", s->api->ompd_get_curr_task_handle(thread, &task); s->api->ompd_rel_task_handle(task));
    MEASURE("ompd_get_thread_in_parallel", s->api->ompd_get_thread_in_parallel(region, 0, &th); s->api->ompd_rel_thread_handle(th));
    MEASURE("ompd_get_state", s->api->ompd_get_state(thread, &word, &wait));
    MEASURE("ompd_thread_handle_compare", int order; s->api->ompd_thread_handle_compare(thread, thread, &order));
    s->api->ompd_rel_parallel_handle(region);
    s->api->ompd_rel_thread_handle(thread);
    s->api->ompd_rel_address_space_handle(space);
    s->api->ompd_finalize();
}
