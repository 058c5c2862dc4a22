/* The threads of a region end its code in a long call of the C library. Their stacks do not show that the program made
 * the call. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void (*volatile scan)(const void *, int, size_t) = (void (*)(const void *, int, size_t))memchr;

int main(void) {
  size_t size = (size_t)1 << 42;
  void *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int began = 0;
  if (zeros == MAP_FAILED)
    return 3;
#pragma omp parallel num_threads(3)
  {
    int n;
#pragma omp atomic capture
    n = ++began;
    if (n == 3) {
      puts("ready");
      fflush(stdout);
    }
    scan(zeros, 1, size);
  }
  return 0;
}
