/* bench.c: calls per second, with the same callbacks for every library. */
#include <stdlib.h>
#include <time.h>

#include "conform.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* measure prints what one repeated expression costs. */
#define MEASURE(name, ...) \
    do { \
        long before = tool.calls, read = tool.bytes_read; \
        double start = now(); \
        for (long i = 0; i < rounds; i++) { __VA_ARGS__; } \
        double took = now() - start; \
        printf("%s %.0f calls/s, %.1f callbacks, %.0f bytes\n", name, (double)rounds / took, \
               (double)(tool.calls - before) / (double)rounds, (double)(tool.bytes_read - read) / (double)rounds); \
    } while (0)

void bench(long rounds) {
    ompd_address_space_handle_t *space;
    ompd_thread_handle_t *thread, *th;
    ompd_parallel_handle_t *region, *outer;
    ompd_task_handle_t *task;
    ompd_word_t word;
    ompd_wait_id_t wait;
    const struct thread_fact *t = &facts.thread[0];
    while (t->idle || !t->openmp) t++;
    double start = now();
    if (api.ompd_initialize(201811, &callbacks) || api.ompd_process_initialize(context(0), &space)) exit(2);
    printf("initialize %.1f ms, %ld callbacks, %ld bytes\n", 1e3 * (now() - start), tool.calls, tool.bytes_read);
    if (api.ompd_get_thread_handle(space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &thread) ||
        api.ompd_get_curr_parallel_handle(thread, &region))
        exit(2);
    MEASURE("ompd_get_thread_handle", api.ompd_get_thread_handle(space, OMPD_THREAD_ID_LWP, sizeof t->lwp, &t->lwp, &th);
            api.ompd_rel_thread_handle(th));
    MEASURE("ompd_get_curr_parallel_handle", api.ompd_get_curr_parallel_handle(thread, &outer); api.ompd_rel_parallel_handle(outer));
    MEASURE("ompd_get_curr_task_handle", api.ompd_get_curr_task_handle(thread, &task); api.ompd_rel_task_handle(task));
    MEASURE("ompd_get_thread_in_parallel", api.ompd_get_thread_in_parallel(region, 0, &th); api.ompd_rel_thread_handle(th));
    MEASURE("ompd_get_state", api.ompd_get_state(thread, &word, &wait));
    MEASURE("ompd_thread_handle_compare", int order; api.ompd_thread_handle_compare(thread, thread, &order));
    api.ompd_rel_parallel_handle(region);
    api.ompd_rel_thread_handle(thread);
    api.ompd_rel_address_space_handle(space);
    api.ompd_finalize();
}
