/* main.c: ompd-conform, a test of OMPD libraries.
 *
 *     ompd-conform LIBRARY FACTS [VERSION]      asserts, and prints "ROUTINE held failed" for each routine
 *     ompd-conform LIBRARY FACTS bench ROUNDS   prints calls per second
 *     ompd-conform LIBRARY FACTS host PIDFILE   asserts how the library lives in a process; its helper is in PIDFILE
 *
 * FACTS is a file of what is true of a program that is running and stays where it is: see facts.c. Assertions that
 * fail are on the standard error. The exit status is 0 whatever the library does, and 2 if it cannot be tested.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

struct api api;
_Thread_local sigjmp_buf trap;
_Thread_local bool trapped;

static const char *const names[] = {
#define R(f) #f,
    ROUTINES(R)
#undef R
};
static long held[ROUTINE_COUNT], failed[ROUTINE_COUNT];
static _Thread_local char subject[160];

void about(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(subject, sizeof subject, format, args);
    va_end(args);
}

bool expect(enum routine r, bool holds, const char *what, const char *format, ...) {
    va_list args;
    __atomic_fetch_add(holds ? &held[r] : &failed[r], 1, __ATOMIC_RELAXED);
    if (holds) return true;
    va_start(args, format);
    fprintf(stderr, "FAIL %s: %s: not %s: ", names[r], subject, what);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool expect_rc(enum routine r, const char *call, int want, int got) {
    if (got == MISSING) return expect(r, false, "there", "the library lacks it");
    if (got == CRASHED) return expect(r, false, call, "it crashes");
    return expect(r, want == got, call, "returns %d, want %d", got, want);
}

void report(void) {
    for (int i = 0; i < ROUTINE_COUNT; i++) printf("%s %ld %ld\n", names[i], held[i], failed[i]);
}

ompd_word_t version_of(enum routine r) {
    return r == ID_ompd_get_device_thread_id_kinds || r == ID_ompd_get_device_from_thread ? 202111 : 201811;
}

/* crash ends a call that crashes. One that has spoilt the heap crashes the test later: what was counted until then is
 * what counts. */
static void crash(int number) {
    if (trapped) siglongjmp(trap, number);
    failed[ID_ompd_finalize]++;
    fprintf(stderr, "FAIL ompd_finalize: %s: signal %d: the library has spoilt this process\n", subject, number);
    report();
    fflush(NULL);
    _exit(0);
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "ompd-conform: %s\n", dlerror());
        return NULL;
    }
#define R(f) api.f = (__typeof__(f) *)dlsym(library, #f);
    ROUTINES(R)
#undef R
    return library;
}

int main(int argc, char **argv) {
    void *library = argc < 3 ? NULL : load(argv[1]);
    if (!library || !facts_read(argv[2])) {
        fprintf(stderr, "usage: ompd-conform LIBRARY FACTS [VERSION | bench ROUNDS | host PIDFILE]\n");
        return 2;
    }
    tool_open(facts.pid);
    if (argc == 5 && !strcmp(argv[3], "bench")) {
        bench(atol(argv[4]));
        return 0;
    }
    if (argc == 5 && !strcmp(argv[3], "host")) {
        check_host(library, argv[4]);
        report();
        return 0;
    }
    struct sigaction action = {.sa_handler = crash};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    ompd_word_t version = argc > 3 ? atol(argv[3]) : 201811;
    check_life();
    if (facts.dormant) {
        check_dormant(version);
        report();
        return 0;
    }
    check_program(version);
    check_misuse(version);
    if (version == 201811) check_faults();
    check_threads();
    report();
    return 0;
}
