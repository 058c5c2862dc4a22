//go:build ignore
/* register.c: the callbacks that are set in the runtime, and its answers. */
#include "events.h"
#include "recorder.h"

static ompt_callback_t callback_of(int code) {
    if (recorder_host[code] != NULL) return recorder_host[code];
    return recorder_rare[code] != NULL ? recorder_rare[code] : recorder_target[code];
}

/* superseded reports whether the runtime calls the later form of a device's callback. */
static bool superseded(int code) {
    static const uint8_t later[64] = {
        [ompt_callback_target] = ompt_callback_target_emi,
        [ompt_callback_target_data_op] = ompt_callback_target_data_op_emi,
        [ompt_callback_target_submit] = ompt_callback_target_submit_emi,
        [ompt_callback_target_map] = ompt_callback_target_map_emi,
    };
    return later[code] != 0 && recorder_head->registered[later[code]] > ompt_set_never;
}

void recorder_register(ompt_function_lookup_t lookup) {
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    for (int code = 63; set != NULL && code > 0; code--) { /* later forms first */
        ompt_callback_t callback = callback_of(code);
        if (callback == NULL || (recorder_head->events & CODE(code)) == 0 || superseded(code)) continue;
        recorder_head->registered[code] = (int8_t)set(code, callback);
    }
    if (set != NULL && !recorder_chained && recorder_head->registered[ompt_callback_sync_region] < 0)
        set(ompt_callback_sync_region, (ompt_callback_t)on_sync_region_unrecorded);
}
