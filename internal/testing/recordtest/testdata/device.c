/* device.c: a small runtime with one device that traces, with the defects of real ones. It finds the recorder as
 * runtimes do, reports a target region to it, and passes it the records of a file. Arguments: the file, the size of a
 * record in it, and the form of the region's events: that of 5.1 ("emi") or the one before ("old"). With "limits", it
 * has OpenMP 6.0's ompt_get_buffer_limits, and passes a large buffer alone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompt.h"

static ompt_callback_t callbacks[64];
static int old, limits;
static ompt_callback_buffer_request_t request;
static ompt_callback_buffer_complete_t complete;
static size_t size;
static size_t written; /* bytes of the buffer that have records */
static int wrong;      /* the device's defect or peculiarity */

enum { RIGHT, STANDING, OVERLAPPING, OUTSIDE, NATIVE, NONE, ASSEMBLED };

static int set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
  if (old && event >= ompt_callback_target_emi && event <= ompt_callback_target_map_emi) return 1; /* never */
  callbacks[event] = callback;
  return 5;
}
static ompt_interface_fn_t lookup(const char *name) {
  return strcmp(name, "ompt_set_callback") == 0 ? (ompt_interface_fn_t)set_callback : NULL;
}

static int set_trace(ompt_device_t *device, unsigned enable, unsigned type) {
  (void)device;
  return enable == 1 && type == 0 ? 5 : 0;
}
static int start_trace(ompt_device_t *device, ompt_callback_buffer_request_t r, ompt_callback_buffer_complete_t c) {
  (void)device;
  request = r;
  complete = c;
  return 1;
}
static int advance(ompt_device_t *device, ompt_buffer_t *buffer, size_t bytes, ompt_buffer_cursor_t at,
                   ompt_buffer_cursor_t *next) {
  (void)device, (void)buffer, (void)bytes;
  *next = wrong == STANDING ? at : wrong == OVERLAPPING ? at + size / 2 : at + size;
  return *next + size <= written;
}
static int record_type(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
  (void)buffer, (void)at;
  return wrong == NATIVE ? ompt_record_native : ompt_record_ompt;
}
static ompt_record_ompt_t *get_record(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
  static char elsewhere[4096], assembled[4096];
  if (wrong == NONE) return NULL;
  if (wrong == ASSEMBLED) return memcpy(assembled, (char *)buffer + at, size); /* as OpenMP allows */
  return (ompt_record_ompt_t *)(wrong == OUTSIDE ? elsewhere : (char *)buffer + at);
}
static size_t recommended = 1 << 14; /* bytes of a buffer; there is no less */
static void buffer_limits(ompt_device_t *device, int *buffers, size_t *bytes) {
  (void)device;
  *buffers = 2;
  *bytes = recommended;
}
static ompt_interface_fn_t device_lookup(const char *name) {
  static const struct {
    const char *name;
    ompt_interface_fn_t function;
  } all[] = {
      {"ompt_set_trace_ompt", (ompt_interface_fn_t)set_trace},
      {"ompt_start_trace", (ompt_interface_fn_t)start_trace},
      {"ompt_advance_buffer_cursor", (ompt_interface_fn_t)advance},
      {"ompt_get_record_type", (ompt_interface_fn_t)record_type},
      {"ompt_get_record_ompt", (ompt_interface_fn_t)get_record},
      {"ompt_get_buffer_limits", (ompt_interface_fn_t)buffer_limits},
  };
  if (!limits && strcmp(name, "ompt_get_buffer_limits") == 0) return NULL;
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].name, name) == 0) return all[i].function;
  return NULL;
}

static char *lend(void) {
  ompt_buffer_t *buffer = NULL;
  size_t bytes = 0;
  request(3, &buffer, &bytes);
  if (buffer == NULL || bytes < recommended) abort(); /* as a runtime does that expects one */
  return buffer;
}

/* deliver passes a buffer with n records and defect number how. */
static void deliver(const char *records, size_t n, int how, int owned) {
  char *buffer = memcpy(lend(), records, n * size);
  wrong = how;
  written = n * size;
  complete(3, buffer, written, 0, owned);
  if (!owned) complete(3, buffer, 0, 0, 1); /* a shared one, returned later */
}

/* deliver_large passes a buffer with times * n records. */
static void deliver_large(const char *records, size_t n, size_t times) {
  char *buffer = lend();
  for (size_t i = 0; i < times; i++) memcpy(buffer + i * n * size, records, n * size);
  wrong = RIGHT;
  written = times * n * size;
  if (written > recommended) abort();
  complete(3, buffer, written, 0, 1);
}

/* parts passes a buffer with four records in two parts. The size of the second is its own bytes, as in AMD's runtime,
 * or the size of the buffer, as in OpenMP. */
static void parts(const char *records, size_t second, int device) {
  char *buffer = memcpy(lend(), records, 4 * size);
  wrong = RIGHT;
  written = size;
  complete(3, buffer, size, 0, 0);
  written = 4 * size;
  complete(device, buffer, second, size, 0);
  complete(3, buffer, 0, 0, 1);
}

/* strange passes buffers that the tool does not own: a returned one, and one of the runtime's own. */
static void strange(const char *records) {
  static char own[1 << 16] __attribute__((aligned(4096)));
  char *buffer = memcpy(lend(), records, size);
  wrong = RIGHT;
  written = size;
  complete(3, buffer, size, 0, 1);
  complete(3, buffer, size, 0, 1);
  memcpy(own, records, size);
  complete(3, own, size, 0, 1);
  memset(own, 0, sizeof own); /* it is there still */
}

#define CALL(event, types, ...) ((void(*) types)callbacks[ompt_callback_##event])(__VA_ARGS__)

/* region reports a target region that copies data to the device and starts a kernel. */
static void region(void) {
  static char host[8], there[8];
  ompt_data_t task = {.value = 5}, target_task = {0}, target = {0};
  ompt_id_t operation = 0;
  void *hosts[] = {host}, *devices[] = {there};
  size_t bytes[] = {8};
  unsigned flags[] = {1};
  CALL(device_load, (int, const char *, int64_t, void *, size_t, void *, void *, uint64_t), 3, "image", 16, NULL, 64,
       host, there, 7);
  if (old) {
    CALL(target, (int, int, int, ompt_data_t *, ompt_id_t, const void *), 1, 1, 3, &task, 9, host);
    CALL(target_map, (ompt_id_t, unsigned, void **, void **, size_t *, unsigned *, const void *), 9, 1, hosts, devices,
         bytes, flags, host);
    CALL(target_data_op, (ompt_id_t, ompt_id_t, int, void *, int, void *, int, size_t, const void *), 9, 10, 2, host,
         -1, there, 3, 8, host);
    CALL(target_submit, (ompt_id_t, ompt_id_t, unsigned), 9, 11, 4);
    CALL(target, (int, int, int, ompt_data_t *, ompt_id_t, const void *), 1, 2, 3, &task, 9, host);
  } else {
    for (int end = 1; end <= 2; end++) { /* of the target region */
      CALL(target_emi, (int, int, int, ompt_data_t *, ompt_data_t *, ompt_data_t *, const void *), 1, end, 3, &task,
           &target_task, &target, host);
      for (int e = 1; end == 1 && e <= 2; e++)
        CALL(target_data_op_emi,
             (int, ompt_data_t *, ompt_data_t *, ompt_id_t *, int, void *, int, void *, int, size_t, const void *), e,
             &target_task, &target, &operation, 2, host, -1, there, 3, 8, host);
      for (int e = 1; end == 1 && e <= 2; e++)
        CALL(target_submit_emi, (int, ompt_data_t *, ompt_id_t *, unsigned), e, &target, &operation, 4);
      if (end == 1)
        CALL(target_map_emi, (ompt_data_t *, unsigned, void **, void **, size_t *, unsigned *, const void *), &target,
             1, hosts, devices, bytes, flags, host);
    }
  }
  CALL(device_unload, (int, uint64_t), 3, 7);
}

int main(int argc, char **argv) {
  static char records[1 << 16];
  ompt_start_tool_result_t *(*start)(unsigned, const char *);
  *(void **)&start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  FILE *f = argc == 4 ? fopen(argv[1], "r") : NULL;
  if (f == NULL || start == NULL) return 1;
  size = (size_t)atol(argv[2]);
  old = strcmp(argv[3], "old") == 0;
  limits = strcmp(argv[3], "limits") == 0;
  if (limits) recommended = 1 << 18;
  size_t n = fread(records, size, sizeof records / size, f);
  ompt_start_tool_result_t *tool = start(202011, "a device that traces");
  if (tool == NULL || tool->initialize(lookup, 0, &tool->tool_data) == 0) return 2;
  static ompt_device_t device;
  ((void (*)(int, const char *, ompt_device_t *, ompt_function_lookup_t, const char *))
       callbacks[ompt_callback_device_initialize])(3, "mock", &device, device_lookup, "");
  if (request == NULL) return 3;
  if (limits) {
    deliver_large(records, n, 16);
    printf("READY\n");
    fflush(stdout);
    for (;;) pause();
  }
  region();
  deliver(records, n, RIGHT, 1);
  for (int how = STANDING; how <= ASSEMBLED; how++) deliver(records, 4, how, how % 2);
  parts(records, 3 * size, 3);
  parts(records, 1 << 16, 0); /* and the number of a device that does not exist */
  strange(records);
  complete(3, NULL, 0, 0, 1);
  complete(99, NULL, 64, 0, 0);
  for (int i = 0; i < 200; i++) { /* requests many before it returns one */
    ompt_buffer_t *buffer = NULL;
    size_t bytes = 0;
    request(3, &buffer, &bytes);
    if (bytes == 0) abort();
  }
  ((void (*)(int))callbacks[ompt_callback_device_finalize])(3);
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
