/* legacy_register.c: sets the callbacks of runtimes before OpenMP 5.0. */
#include "legacy.h"

/* The answers of such a runtime's ompt_set_callback. */
enum { CALLED_SOMETIMES = 3, CALLED_ALWAYS = 4 };

/* is_called reports whether a runtime that gave this answer calls the callback. */
static bool is_called(int answer) { return answer >= CALLED_SOMETIMES; }

static int8_t set_result(int answer) {
    if (!is_called(answer)) return ompt_set_never;
    return answer == CALLED_SOMETIMES ? ompt_set_sometimes : ompt_set_always;
}

uint64_t legacy_register(legacy_set_t set, const struct legacy_event *events, int n) {
    uint64_t asked = 0, codes = 0, called = 0;
    for (int i = 0; i < n; i++) {
        const struct legacy_event *e = &events[i];
        if (e->callback == NULL || (recorder_head->events & CODE(e->code)) == 0) continue;
        int answer = set(i, e->callback);
        int8_t result = set_result(answer);
        if (result > recorder_head->registered[e->code]) recorder_head->registered[e->code] = result;
        asked |= CODE(e->code);
        if (!is_called(answer)) continue;
        called |= CODE(i);
        codes |= CODE(e->code) | (e->replaces != 0 ? CODE(e->replaces) : 0);
    }
    recorder_head->events &= ~asked | codes;
    return called;
}
