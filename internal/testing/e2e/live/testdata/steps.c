// A function that ends in a parallel region is called through a pointer, as a plug-in, a callback or a virtual function
// is. One worker stays in the region; the thread that forked it waits at its end.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static volatile int steps;

static void settle(void) { steps++; }

static void advance(void) {
  settle();
#pragma omp parallel num_threads(3) // HERE
  if (omp_get_thread_num() == 1) {
    puts("ready");
    fflush(stdout);
    for (;;)
      pause();
  }
}

static void (*volatile const table[])(void) = {settle, advance};

int main(void) {
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
    table[i]();
  return steps;
}
