/* A task uses a variable of a function that has returned, as a taskwait is missing: the stack has other contents, and
 * the task takes a null pointer from it. Argument 1: the function waits for the task, which uses a null pointer that
 * the variable contains. */
#include "truth.h"

struct tile { float *row[16]; };

static float all[16 * 16];
static volatile float sum;
static volatile int started, overwritten;
static int waits;

__attribute__((noinline)) static void add(int column) {
  struct tile tile;
  for (int i = 0; i < 16; i++)
    tile.row[i] = waits ? NULL : all + 16 * i;
#pragma omp task shared(tile) firstprivate(column)
  {
    truth_set(&started);
    if (!waits)
      truth_until(&overwritten);
    for (int i = 0; i < 16; i++)
      sum = tile.row[i][column];
  }
  if (waits) {
#pragma omp taskwait
  }
}

__attribute__((noinline)) static void overwrite(void) {
  char room[1000];
  memset(room, 0, sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  waits = argc > 2 && atoi(argv[2]) == 1;
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      truth_write(1);
      add(3);
      truth_until(&started);
      overwrite();
      truth_set(&overwritten);
      truth_until(&waits);
    }
  }
  return 0;
}
