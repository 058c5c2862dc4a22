//go:build ignore
/* state.c: the variables of state.h. */
#include "state.h"

__thread struct recorder_ring *recorder_mine __attribute__((tls_model("initial-exec")));
struct recorder_header *recorder_head;
uint32_t recorder_clock, recorder_off = 1;
uint32_t recorder_upper = RECORDER_ID_SHIFT;
uint32_t recorder_given, recorder_chained;
ompt_callback_t recorder_next[64];
recorder_listener_t recorder_listener;
