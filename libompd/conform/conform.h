/* conform.h: the types and functions of ompd-conform. */
#ifndef OMPD_CONFORM_H
#define OMPD_CONFORM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include "../omp-tools.h"

/* The routines of OpenMP 5.2 and 6.0. */
#define ROUTINES(R) \
    R(ompd_initialize) R(ompd_get_api_version) R(ompd_get_version_string) R(ompd_finalize) \
    R(ompd_process_initialize) R(ompd_device_initialize) R(ompd_get_device_thread_id_kinds) \
    R(ompd_rel_address_space_handle) R(ompd_get_omp_version) R(ompd_get_omp_version_string) \
    R(ompd_get_thread_in_parallel) R(ompd_get_thread_handle) R(ompd_rel_thread_handle) R(ompd_thread_handle_compare) \
    R(ompd_get_thread_id) R(ompd_get_device_from_thread) \
    R(ompd_get_curr_parallel_handle) R(ompd_get_enclosing_parallel_handle) R(ompd_get_task_parallel_handle) \
    R(ompd_rel_parallel_handle) R(ompd_parallel_handle_compare) \
    R(ompd_get_curr_task_handle) R(ompd_get_generating_task_handle) R(ompd_get_scheduling_task_handle) \
    R(ompd_get_task_in_parallel) R(ompd_rel_task_handle) R(ompd_task_handle_compare) R(ompd_get_task_function) \
    R(ompd_get_task_frame) R(ompd_enumerate_states) R(ompd_get_state) R(ompd_get_display_control_vars) \
    R(ompd_rel_display_control_vars) R(ompd_enumerate_icvs) R(ompd_get_icv_from_scope) \
    R(ompd_get_icv_string_from_scope) R(ompd_get_tool_data)

enum routine {
#define R(f) ID_##f,
    ROUTINES(R)
#undef R
    ROUTINE_COUNT
};

/* The library under test; a routine that it lacks is null. */
struct api {
#define R(f) __typeof__(f) *f;
    ROUTINES(R)
#undef R
};

struct suite;

/* The tool: callbacks that read a stopped process, and its own allocator. */
enum fault { NO_FAULT, FAIL, LIE }; /* a callback reports an error, or success with nonsense */
struct tool {
    enum fault alloc, sizes, symbol, read, convert;
    long fail_after;         /* calls of the faulty callback that still succeed */
    long calls, bytes_read;  /* of callbacks that look at the target */
    long blocks, bytes;      /* of the allocator, in use */
    long foreign;            /* freed pointers that it did not allocate */
    bool call_back;          /* the read callback calls the library */
    int called_back;         /* the return code of that call */
    void (*at_read)(struct suite *); /* called by the next read callback */
};
extern const ompd_callbacks_t callbacks;
enum { STRANGER = 3 };
ompd_address_space_context_t *context(int n); /* n-th context of the same process; the tool does not know STRANGER */
void tool_open(const struct suite *s);

/* The facts about the program, which the program itself has written down. */
enum { MAX_LEVELS = 8, MAX_ICVS = 24, MAX_THREADS = 64, MAX_SYMBOLS = 512 };
struct icv_fact {
    char name[40];
    long value;
};
struct thread_fact {
    long lwp;
    unsigned long pthread;
    bool openmp, idle, in_task; /* in_task: an explicit task of its region runs on it */
    int level, number, state; /* state: -1 if it is not determined */
    int size[MAX_LEVELS], ancestor[MAX_LEVELS];
    unsigned long data[3]; /* a tool's data of the thread, the region, the task; 0 if there is none */
    int icvs;
    struct icv_fact icv[MAX_ICVS];
};
struct symbol_fact {
    char name[80];
    unsigned long address;
};
struct gtid_fact {
    long lwp;
    int gtid;
};
struct facts {
    int pid, threads, symbols, gtids;
    bool tracking; /* the runtime keeps states */
    bool dormant;  /* the program has not used the runtime yet */
    long omp_version;
    unsigned long text_low, text_high; /* the program's code */
    char control_var[128];             /* one that the program was started with: NAME=value */
    struct thread_fact thread[MAX_THREADS];
    struct symbol_fact symbol[MAX_SYMBOLS];
    struct gtid_fact gtid[MAX_THREADS];
};
bool facts_read(struct facts *facts, const char *path);
unsigned long fact_symbol(const struct facts *facts, const char *name);
/* fact_gtid returns the runtime's number of a thread, or the number that a foreign thread has. */
int fact_gtid(const struct facts *facts, long lwp);

/* The numbers of assertions that held and that failed, by routine. */
struct results {
    long held[ROUTINE_COUNT], failed[ROUTINE_COUNT];
};

/* A suite is the argument of each part of the test. Each thread that calls the library has its own suite, with the same
 * library, tool, facts and results. */
struct suite {
    const struct api *api;
    struct tool *tool;
    const struct facts *facts;
    struct results *results;
    char subject[160]; /* the subject of the assertions, for failures */
    sigjmp_buf trap;   /* of a call that crashes */
    bool trapped;
};

/* suite_enter makes s the suite of the calling thread: a copy of another thread's. */
void suite_enter(struct suite *s, const struct suite *other);
struct suite *suite_of_thread(void);
/* suite_catch_crashes lets CALL catch crashes. Others end the process with a report of results. */
void suite_catch_crashes(struct suite *s);

/* The results of a call besides return codes. */
enum { MISSING = -1, CRASHED = -2 };

/* CALL calls a routine by the suite s. A crash in it is caught. */
#define CALL(f, ...) \
    __extension__({ \
        volatile int call_rc = MISSING; \
        if (s->api->f) { \
            if (sigsetjmp(s->trap, 1)) { \
                call_rc = CRASHED; \
            } else { \
                s->trapped = true; \
                call_rc = (int)s->api->f(__VA_ARGS__); \
            } \
            s->trapped = false; \
        } \
        call_rc; \
    })

/* RETURNS asserts the return code of a call, and reports whether it was that. */
#define RETURNS(code, f, ...) expect_rc(s, ID_##f, #f "(" #__VA_ARGS__ ")", code, CALL(f, ##__VA_ARGS__))
/* OK asserts success; programs need positive assertions. */
#define OK(f, ...) RETURNS(ompd_rc_ok, f, ##__VA_ARGS__)
/* HOLDS asserts a condition on the result of a routine. */
#define HOLDS(f, condition, ...) expect(s, ID_##f, condition, #condition, __VA_ARGS__)

bool expect(struct suite *s, enum routine r, bool holds, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool expect_rc(struct suite *s, enum routine r, const char *call, int want, int got);
/* about sets the subject of the next assertions. */
void about(struct suite *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report(const struct results *results);

/* version_of returns the version that introduced a routine. */
ompd_word_t version_of(enum routine r);

/* The parts of the test. */
void check_life(struct suite *s);
void check_program(struct suite *s, ompd_word_t version);
void check_misuse(struct suite *s, ompd_word_t version);
void check_dormant(struct suite *s, ompd_word_t version); /* in place of all others but check_life */
void check_faults(struct suite *s);
void check_threads(struct suite *s);
/* check_constants checks the facts that do not depend on the state of the program. */
void check_constants(struct suite *s, ompd_address_space_handle_t *space);
/* check_variables_later asserts that variables have no value yet. */
void check_variables_later(struct suite *s, ompd_address_space_handle_t *space);
void bench(struct suite *s, long rounds);
void check_abuse(struct suite *s, const char *pid_file); /* disturbances by debuggers while the library works */
bool kill_helper(const char *pid_file);
void check_host(struct suite *s, void *library, const char *pid_file); /* unloads the library */

#endif
