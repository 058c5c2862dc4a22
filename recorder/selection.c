//go:build ignore
/* selection.c: the events that the user selects by OMPD_RECORDER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static const char *const names[64] = {
    [1] = "thread_begin", "thread_end", "parallel_begin", "parallel_end", "task_create", "task_schedule",
    "implicit_task", "target", "target_data_op", "target_submit", "control_tool", "device_initialize",
    "device_finalize", "device_load", "device_unload", "sync_region_wait", "mutex_released", "dependences",
    "task_dependence", "work", "masked", "target_map", "sync_region", "lock_init", "lock_destroy", "mutex_acquire",
    "mutex_acquired", "nest_lock", "flush", "cancel", "reduction", "dispatch", "target_emi", "target_data_op_emi",
    "target_submit_emi", "target_map_emi", "error",
};

#define ALL (((UINT64_C(1) << 38) - 1) & ~UINT64_C(1))
#define LOCKS (CODE(17) | CODE(24) | CODE(25) | CODE(26) | CODE(27) | CODE(28))
#define TASKS (CODE(5) | CODE(6) | CODE(16) | CODE(18) | CODE(19) | CODE(23))
/* Threads, regions, implicit tasks and control are always recorded: other events make no sense without them. */
#define ALWAYS (CODE(1) | CODE(2) | CODE(3) | CODE(4) | CODE(7) | CODE(11))
#define DEFAULT (ALL & ~(CODE(ompt_callback_dispatch) | CODE(ompt_callback_flush)))

/* mask_of returns the mask of a word in OMPD_RECORDER: the name of a set or of a callback. */
static uint64_t mask_of(const char *word, size_t n) {
    static const struct {
        const char *name;
        uint64_t mask;
    } sets[] = {{"default", DEFAULT}, {"all", ALL}, {"locks", LOCKS}, {"tasks", TASKS}, {"none", 0}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strncmp(sets[i].name, word, n) == 0 && sets[i].name[n] == 0) return sets[i].mask;
    for (int i = 1; i < 64; i++)
        if (names[i] != NULL && strncmp(names[i], word, n) == 0 && names[i][n] == 0) return CODE(i);
    fprintf(stderr, "libompd-recorder: OMPD_RECORDER: unknown event %.*s\n", (int)n, word);
    return 0;
}

uint64_t recorder_selected(void) {
    const char *set = getenv("OMPD_RECORDER");
    uint64_t wanted = set == NULL || *set == 0 || *set == '+' || *set == '-' ? DEFAULT : 0;
    while (set != NULL && *set != 0) {
        size_t n = strcspn(set, ",");
        size_t sign = *set == '+' || *set == '-';
        if (*set == '-')
            wanted &= ~mask_of(set + sign, n - sign);
        else if (n > sign)
            wanted |= mask_of(set + sign, n - sign);
        set += n + (set[n] == ',');
    }
    return wanted | ALWAYS;
}
