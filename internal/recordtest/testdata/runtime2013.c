/* runtime2013.c: a small runtime that knows OMPT as the draft of 2013 has it, and a program in one. Its thread forks a
 * region, has one lock and waits for another.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

typedef union {
  uint64_t value;
  void *ptr;
} data_t;
typedef void (*callback_t)(void);

static callback_t callbacks[58];

__attribute__((visibility("default"))) int ompt_set_callback(int event, callback_t callback) {
  callbacks[event] = callback;
  return 4;
}
__attribute__((visibility("default"))) int ompt_get_ompt_version(void) { return 1; }

int main(void) {
  int (*initialize)(void);
  *(void **)&initialize = dlsym(RTLD_DEFAULT, "ompt_initialize");
  if (initialize == NULL || initialize() != 1) return 1;
  data_t thread = {0}, task = {0}, implicit = {0};
  ((void (*)(data_t *))callbacks[5])(&thread);
  ((void (*)(data_t *, void *, uint64_t))callbacks[1])(&task, NULL, 4711);
  ((void (*)(data_t *, uint64_t))callbacks[22])(&implicit, 4711);
  ((void (*)(uint64_t))callbacks[42])(0x1000);
  ((void (*)(uint64_t))callbacks[47])(0x1000);
  ((void (*)(uint64_t))callbacks[42])(0x2000);
  printf("READY %lu\n", implicit.value);
  fflush(stdout);
  for (;;) pause();
}
