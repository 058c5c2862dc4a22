//go:build ignore
/* tool.c: ompt_start_tool, by which the runtime finds the recorder. */
#include "recorder.h"

static int initialize(ompt_function_lookup_t lookup, int initial_device_num, ompt_data_t *tool_data) {
    (void)tool_data;
    recorder_register(lookup);
    chain_initialize(lookup, initial_device_num);
    return 1;
}

static void finalize(ompt_data_t *tool_data) {
    (void)tool_data;
    chain_finalize();
}

exported ompt_start_tool_result_t *ompt_start_tool(unsigned omp_version,
                                                                                 const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    if (!recorder_start(RECORDER_SOURCE_OMPT, omp_version, runtime)) return NULL;
    chain_start(omp_version, runtime);
    return &result;
}
