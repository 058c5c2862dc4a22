/* device.c: a small runtime with one device that traces, and that has the defects of those that exist. It finds the
 * recorder as runtimes do, and hands it the records of a file. Arguments: the file, the size of a record in it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompt.h"

static ompt_callback_t callbacks[64];
static ompt_callback_buffer_request_t request;
static ompt_callback_buffer_complete_t complete;
static size_t size;
static int wrong; /* what the device does wrong */

enum { RIGHT, STANDING, OVERLAPPING, OUTSIDE, NATIVE, NONE };

static int set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
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
  (void)device, (void)buffer;
  *next = wrong == STANDING ? at : wrong == OVERLAPPING ? at + size / 2 : at + size;
  return *next + size <= bytes;
}
static int record_type(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
  (void)buffer, (void)at;
  return wrong == NATIVE ? ompt_record_native : ompt_record_ompt;
}
static ompt_record_ompt_t *get_record(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
  static char elsewhere[4096];
  if (wrong == NONE) return NULL;
  return (ompt_record_ompt_t *)(wrong == OUTSIDE ? elsewhere : (char *)buffer + at);
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
  };
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].name, name) == 0) return all[i].function;
  return NULL;
}

/* deliver hands over a buffer with n records, of the number how in what is wrong with it. */
static void deliver(const char *records, size_t n, int how, int owned) {
  ompt_buffer_t *buffer = NULL;
  size_t bytes = 0;
  request(3, &buffer, &bytes);
  if (buffer == NULL || bytes < n * size) abort(); /* as a runtime does that expects one */
  memcpy(buffer, records, n * size);
  wrong = how;
  complete(3, buffer, n * size, 0, owned);
  if (!owned) complete(3, buffer, 0, 0, 1); /* a shared one, given back later */
}

int main(int argc, char **argv) {
  static char records[1 << 16];
  ompt_start_tool_result_t *(*start)(unsigned, const char *);
  *(void **)&start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
  if (f == NULL || start == NULL) return 1;
  size = (size_t)atol(argv[2]);
  size_t n = fread(records, size, sizeof records / size, f);
  ompt_start_tool_result_t *tool = start(202011, "a device that traces");
  if (tool == NULL || tool->initialize(lookup, 0, &tool->tool_data) == 0) return 2;
  static ompt_device_t device;
  ((void (*)(int, const char *, ompt_device_t *, ompt_function_lookup_t, const char *))
       callbacks[ompt_callback_device_initialize])(3, "mock", &device, device_lookup, "");
  if (request == NULL) return 3;
  deliver(records, n, RIGHT, 1);
  for (int how = STANDING; how <= NONE; how++) deliver(records, 4, how, how % 2);
  complete(3, NULL, 0, 0, 1);
  complete(99, NULL, 64, 0, 0);
  for (int i = 0; i < 200; i++) { /* asks for many before it gives one back */
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
