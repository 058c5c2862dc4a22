/* A library with the name of a driver, for LLVM's offloading library: each copy of COPIED bytes to a device takes
 * forever. */
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

enum { COPIED = 76543 };
static sem_t end;

void *memcpy(void *to, const void *from, size_t n) {
  if (n == COPIED) {
    if (write(1, "READY\n", 6) != 6) _exit(1);
    for (;;) sem_wait(&end);
  }
  for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
