//go:build ignore
/* chain.c: the tool that OMPD_RECORDER_NEXT names. Its callbacks are called after the recorder's. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static ompt_start_tool_result_t *next;
static ompt_initialize_t next_initialize;
static ompt_function_lookup_t runtime_lookup;

/* is_recorder reports whether a library is a recorder, by the variable that only recorders have. The tool itself may be
 * linked with one. */
static bool is_recorder(void *library) {
    Dl_info start, header;
    void *entry = dlsym(library, "ompt_start_tool"), *variable = dlsym(library, "ompd_recorder_header");
    return entry != NULL && variable != NULL && dladdr(entry, &start) != 0 && dladdr(variable, &header) != 0 &&
           start.dli_fbase == header.dli_fbase;
}

/* tool_initialize returns the function that initializes a tool. Many tools name it ompt_initialize, as the recorder
 * names its function for runtimes of 2013 (legacy/draft2013.c). If the recorder was preloaded, their reference is bound
 * to the recorder's function. */
static ompt_initialize_t tool_initialize(void *library, const ompt_start_tool_result_t *tool) {
    ompt_initialize_t own;
    *(void **)&own = dlsym(library, "ompt_initialize");
    return own != NULL && tool->initialize == (ompt_initialize_t)ompt_initialize ? own : tool->initialize;
}

/* start_one starts the tool of one library. It refuses recorders, be it this one by another name or a copy: such a
 * recorder would start the tool after it, and so itself, without end. */
static ompt_start_tool_result_t *start_one(const char *path, unsigned omp_version, const char *runtime) {
    void *library = dlopen(path, RTLD_LAZY);
    if (library == NULL) {
        fprintf(stderr, "libompd-recorder: OMPD_RECORDER_NEXT: %s\n", dlerror());
        return NULL;
    }
    ompt_start_tool_result_t *(*start)(unsigned, const char *);
    *(void **)&start = dlsym(library, "ompt_start_tool");
    ompt_start_tool_result_t *result = start == NULL || is_recorder(library) ? NULL : start(omp_version, runtime);
    if (result == NULL)
        dlclose(library);
    else
        next_initialize = tool_initialize(library, result);
    return result;
}

/* chain_start starts the first library in the list that has a tool. The list is separated by colons, as in
 * OMP_TOOL_LIBRARIES. */
void chain_start(unsigned omp_version, const char *runtime) {
    const char *set = getenv("OMPD_RECORDER_NEXT");
    char *list = set == NULL ? NULL : strdup(set), *rest = NULL;
    if (list == NULL) return;
    for (char *path = strtok_r(list, ":", &rest); path != NULL && next == NULL; path = strtok_r(NULL, ":", &rest))
        next = start_one(path, omp_version, runtime);
    free(list);
    recorder_chained = next != NULL;
    if (recorder_chained) recorder_upper = 32;
    recorder_head->ids = recorder_chained ? RECORDER_IDS_ADDRESS : RECORDER_IDS_OURS;
}

/* next_set is ompt_set_callback for the next tool. For events that the recorder records too, the recorder calls the
 * callback itself. */
static int next_set(ompt_callbacks_t code, ompt_callback_t callback) {
    ompt_set_callback_t set = (ompt_set_callback_t)runtime_lookup("ompt_set_callback");
    if (code <= 0 || code >= 64 || recorder_head->registered[code] < 0) return set(code, callback);
    recorder_next[code] = callback;
    return recorder_head->registered[code];
}

/* next_get is ompt_get_callback for the next tool. */
static int next_get(ompt_callbacks_t code, ompt_callback_t *callback) {
    int (*get)(ompt_callbacks_t, ompt_callback_t *) =
        (int (*)(ompt_callbacks_t, ompt_callback_t *))runtime_lookup("ompt_get_callback");
    if (code <= 0 || code >= 64 || recorder_head->registered[code] < 0) return get(code, callback);
    *callback = recorder_next[code];
    return recorder_next[code] != NULL;
}

static ompt_interface_fn_t next_lookup(const char *name) {
    if (strcmp(name, "ompt_set_callback") == 0) return (ompt_interface_fn_t)next_set;
    if (strcmp(name, "ompt_get_callback") == 0) return (ompt_interface_fn_t)next_get;
    return runtime_lookup(name);
}

void chain_initialize(ompt_function_lookup_t lookup, int initial_device_num) {
    runtime_lookup = lookup;
    if (next != NULL && next_initialize(next_lookup, initial_device_num, &next->tool_data) == 0) {
        next = NULL; /* it wants no events; the words still belong to it */
        memset(recorder_next, 0, sizeof recorder_next);
    }
}

void chain_finalize(void) {
    if (next != NULL) next->finalize(&next->tool_data);
}
