/* A thread crashes in a parallel region by a signal other than that of a null pointer:
 * it writes to a string literal (0), uses unmapped memory (1), jumps to data (2) or to
 * an unmapped address (3), reads a page that a mapped file no longer has (4), divides by
 * zero (5), reaches a trap of the compiler (6), calls abort (7), uses an invalid address
 * (8), is in an explicit task (9); with 10 and more, the same as from 0 with a handler
 * that sends the signal again. With 20, it sends itself SIGSEGV without a fault. */
#include "truth.h"
#include <fcntl.h>
#include <sys/mman.h>

static const char *volatile text = "constant";
static volatile long zero, sink;
static void (*volatile call)(void);
static long data[4];

static void again(int n) {
  signal(n, SIG_DFL);
  raise(n);
}

__attribute__((noinline)) static char *gone(void) {
  char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, 1 << 16);
  return p;
}

__attribute__((noinline)) static char *cut(void) {
  int fd = open("shorter.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 8192))
    _exit(3);
  char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (ftruncate(fd, 0))
    _exit(3);
  return p;
}

__attribute__((noinline)) static void fail(int what) {
  switch (what) {
  case 0:
    *(char *)text = 'C';
    break;
  case 1:
    sink = *(volatile char *)(gone() + 100);
    break;
  case 2:
    call = (void (*)(void))data;
    call();
    break;
  case 3:
    call = (void (*)(void))gone();
    call();
    break;
  case 4:
    sink = *(volatile char *)(cut() + 4096);
    break;
  case 5:
    sink = sink / zero;
    break;
  case 6:
    __builtin_trap();
  case 7:
    abort();
  case 8:
    sink = *(volatile char *)(0x1234567890abcdef + zero);
    break;
  case 9:
#pragma omp task if (0)
    *(char *)text = 'C';
    break;
  case 20:
    raise(SIGSEGV);
  }
  sink++;
}

int main(int argc, char **argv) {
  int what = (int)truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  if (what >= 10 && what < 20)
    for (int n = 0; n < 5; n++)
      signal((int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}[n], again);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_write(1);
      fail(what < 20 ? what % 10 : what);
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
