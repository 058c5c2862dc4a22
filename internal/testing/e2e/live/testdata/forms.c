/* forms.c: one region, repeated; its workers sleep in between. */
#include <omp.h>
#include <unistd.h>

static volatile int sum;

int main(void) {
  for (int i = 0; i < 1000; i++) {
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
      sum++;
    }
    usleep(20000);
  }
}
