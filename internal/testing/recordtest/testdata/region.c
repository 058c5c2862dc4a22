/* region.c: a program with one region, which ends. */
int main(void) {
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads++;
  return threads - 2;
}
