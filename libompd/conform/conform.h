/* conform.h: what the files of ompd-conform share. */
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
extern struct api {
#define R(f) __typeof__(f) *f;
    ROUTINES(R)
#undef R
} api;

/* What a call can come to besides a return code. */
enum { MISSING = -1, CRASHED = -2 };

/* CALL calls a routine. A crash in it is caught. */
#define CALL(f, ...) \
    __extension__({ \
        volatile int call_rc = MISSING; \
        if (api.f) { \
            if (sigsetjmp(trap, 1)) { \
                call_rc = CRASHED; \
            } else { \
                trapped = true; \
                call_rc = (int)api.f(__VA_ARGS__); \
            } \
            trapped = false; \
        } \
        call_rc; \
    })

/* RETURNS asserts the return code of a call, and reports whether it was that. */
#define RETURNS(code, f, ...) expect_rc(ID_##f, #f "(" #__VA_ARGS__ ")", code, CALL(f, ##__VA_ARGS__))
/* OK is the same for success; positive assertions are about what programs need. */
#define OK(f, ...) RETURNS(ompd_rc_ok, f, ##__VA_ARGS__)
/* HOLDS asserts something about what a routine gave. */
#define HOLDS(f, condition, ...) expect(ID_##f, condition, #condition, __VA_ARGS__)

extern _Thread_local sigjmp_buf trap;
extern _Thread_local bool trapped;

bool expect(enum routine r, bool holds, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool expect_rc(enum routine r, const char *call, int want, int got);
void about(const char *format, ...) __attribute__((format(printf, 1, 2))); /* what is asked about, for failures */
void report(void);

/* The tool: callbacks over a stopped process, and its own allocator. */
enum fault { NO_FAULT, FAIL, LIE }; /* a callback reports an error, or success with nonsense */
extern struct tool {
    enum fault alloc, sizes, symbol, read, convert;
    long fail_after;         /* calls of the callback that has a fault which still succeed */
    long calls, bytes_read;  /* of callbacks that look at the target */
    long blocks, bytes;      /* of the allocator, in use */
    long foreign;            /* pointers freed that it never gave */
    bool call_back;          /* the read callback calls the library */
    int called_back;         /* what that returned */
    void (*at_read)(void);   /* called by the next read callback */
} tool;
extern const ompd_callbacks_t callbacks;
enum { STRANGER = 3 };
ompd_address_space_context_t *context(int n); /* n-th context for the same process; STRANGER is none of the tool's */
void tool_open(int pid);

/* What is true of the program, from its own mouth. */
enum { MAX_LEVELS = 8, MAX_ICVS = 24 };
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
extern struct facts {
    int pid, threads;
    bool tracking; /* the runtime keeps states */
    bool dormant;  /* the program has not used the runtime yet */
    long omp_version;
    unsigned long text_low, text_high; /* the program's code */
    char control_var[128];             /* one that the program was started with: NAME=value */
    struct thread_fact thread[64];
} facts;
bool facts_read(const char *path);
unsigned long fact_symbol(const char *name);
int fact_gtid(long lwp); /* the runtime's number of a thread, or that of a thread that is none of its own */

/* The parts of the test. */
void check_life(void);
void check_program(ompd_word_t version);
void check_misuse(ompd_word_t version);
void check_dormant(ompd_word_t version); /* in place of all others but check_life */
void check_faults(void);
void check_threads(void);
void check_constants(ompd_address_space_handle_t *space); /* what is so for the runtime whatever the program does */
void check_variables_later(ompd_address_space_handle_t *space); /* that variables have no value yet */
void bench(long rounds);
void check_abuse(const char *pid_file); /* what debuggers do to the library while it works */
bool kill_helper(const char *pid_file);
void check_host(void *library, const char *pid_file); /* unloads the library */

/* version_of tells in which version a routine came. */
ompd_word_t version_of(enum routine r);

#endif
