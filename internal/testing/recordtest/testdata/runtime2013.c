/* runtime2013.c: a small runtime with OMPT of the draft of 2013, and a program in one. Its thread forks a region with a
 * loop, a master construct and a barrier, holds one lock and waits for another; its other actions are not recorded.
 * With the argument "constructs" it does not report waits for barriers; with a number, it has that version of OMPT and
 * requires that the tool refuses it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef union {
  uint64_t value;
  void *ptr;
} data_t;
typedef void (*callback_t)(void);

static callback_t callbacks[58];
static int constructs, version = 1;

__attribute__((visibility("default"))) int ompt_set_callback(int event, callback_t callback) {
  if (constructs && (event == 11 || event == 12)) return 2; /* never */
  callbacks[event] = callback;
  return 4;
}
__attribute__((visibility("default"))) int ompt_get_ompt_version(void) { return version; }

static void call(int event, uint64_t a, uint64_t b) {
  if (callbacks[event] != NULL) ((void (*)(uint64_t, uint64_t))callbacks[event])(a, b);
}

int main(int argc, char **argv) {
  constructs = argc > 1 && strcmp(argv[1], "constructs") == 0;
  if (argc > 1 && !constructs) version = atoi(argv[1]);
  int (*initialize)(void);
  *(void **)&initialize = dlsym(RTLD_DEFAULT, "ompt_initialize");
  if (initialize == NULL || initialize() != (version == 1)) return 1;
  if (version != 1) {
    printf("READY\n");
    fflush(stdout);
    for (;;) pause();
  }
  data_t thread = {0}, task = {0}, implicit = {0};
  ((void (*)(data_t *))callbacks[5])(&thread);
  ((void (*)(data_t *, void *, uint64_t))callbacks[1])(&task, NULL, 4711);
  ((void (*)(data_t *, uint64_t))callbacks[22])(&implicit, 4711);
  static const int begins[] = {25 /* loop */, 33 /* master */, 11 /* wait at a barrier */, 35 /* barrier */};
  for (int i = 0; i < 4; i++)
    for (int end = 0; end < 2; end++) call(begins[i] + end, (uint64_t)&implicit, 4711);
  call(42, 0x1000, 0); /* a lock */
  call(47, 0x1000, 0);
  call(7, 2, 0); /* ompt_control: pauses */
  call(42, 0x3000, 0);
  call(47, 0x3000, 0);
  call(17, 0x3000, 0);
  call(7, 1, 0);
  call(42, 0x2000, 0);
  printf("READY %lu\n", implicit.value);
  fflush(stdout);
  for (;;) pause();
}
