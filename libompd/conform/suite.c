/* suite.c: assertions, their results, and crashes of the library. */
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "conform.h"

static const char *const names[] = {
#define R(f) #f,
    ROUTINES(R)
#undef R
};

/* The signal handler needs the suite of its thread, and the results. */
static _Thread_local struct suite *current;
static struct results *counted;

void suite_enter(struct suite *s, const struct suite *other) {
    *s = (struct suite){.api = other->api, .tool = other->tool, .facts = other->facts, .results = other->results};
    current = s;
}

struct suite *suite_of_thread(void) { return current; }

void about(struct suite *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(s->subject, sizeof s->subject, format, args);
    va_end(args);
}

bool expect(struct suite *s, enum routine r, bool holds, const char *what, const char *format, ...) {
    va_list args;
    __atomic_fetch_add(holds ? &s->results->held[r] : &s->results->failed[r], 1, __ATOMIC_RELAXED);
    if (holds) return true;
    va_start(args, format);
    fprintf(stderr, "FAIL %s: %s: not %s: ", names[r], s->subject, what);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool expect_rc(struct suite *s, enum routine r, const char *call, int want, int got) {
    if (got == MISSING) return expect(s, r, false, "there", "the library lacks it");
    if (got == CRASHED) return expect(s, r, false, call, "it crashes");
    return expect(s, r, want == got, call, "returns %d, want %d", got, want);
}

void report(const struct results *results) {
    for (int i = 0; i < ROUTINE_COUNT; i++) printf("%s %ld %ld\n", names[i], results->held[i], results->failed[i]);
}

ompd_word_t version_of(enum routine r) {
    return r == ID_ompd_get_device_thread_id_kinds || r == ID_ompd_get_device_from_thread ? 202111 : 201811;
}

/* crash ends a call that crashes. A call that has damaged the heap crashes the test later: the results until then
 * count. */
static void crash(int number) {
    if (current && current->trapped) siglongjmp(current->trap, number);
    counted->failed[ID_ompd_finalize]++;
    fprintf(stderr, "FAIL ompd_finalize: %s: signal %d: the library has damaged this process\n",
            current ? current->subject : "", number);
    report(counted);
    fflush(NULL);
    _exit(0);
}

void suite_catch_crashes(struct suite *s) {
    struct sigaction action = {.sa_handler = crash};
    counted = s->results;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}
