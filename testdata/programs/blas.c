/* A product of matrices by the BLAS library in OMPD_BLAS, which has its own parallel regions.
 * In mode segv, half of one matrix is unmapped: some thread of the library crashes in a region. With a second argument,
 * it is repeated, and READY is written after the first product. */
#include "truth.h"
#include <dlfcn.h>
#include <sys/mman.h>

enum { SIZE = 512 };
typedef void dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                   const double *b, int ldb, double beta, double *c, int ldc);

static double *matrix(void) {
  double *m = mmap(NULL, sizeof(double) * SIZE * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; m != MAP_FAILED && i < SIZE * SIZE; i++)
    m[i] = i % 7;
  return m;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  void *lib = dlopen(getenv("OMPD_BLAS"), RTLD_NOW);
  dgemm *multiply = lib ? (dgemm *)dlsym(lib, "cblas_dgemm") : NULL;
  double *a = matrix(), *b = matrix(), *c = matrix();
  if (!multiply || a == MAP_FAILED || b == MAP_FAILED || c == MAP_FAILED) {
    fprintf(stderr, "%s\n", lib ? "no cblas_dgemm, or no memory" : dlerror());
    return 5;
  }
  if (!strcmp(truth_mode, "segv")) {
    mprotect(b + SIZE * SIZE / 2, sizeof(double) * SIZE * SIZE / 2, PROT_NONE);
    truth_write(1);
  }
  if (argc > 2) {
    truth_write(1);
    multiply(102, 111, 111, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE); /* starts the threads */
    if (write(atoi(getenv("OMPD_READY_FD")), "READY\n", 6) != 6)
      return 3;
    for (;;)
      multiply(102, 111, 111, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
  }
  multiply(102, 111, 111, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
  return c[5] == 0;
}
