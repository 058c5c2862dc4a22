/* A team of as many threads as OMP_NUM_THREADS says, for debuggers that run it from its beginning: they stop in work,
 * when all threads have begun, and all but the first are at a barrier, or on their way to it. It writes no truth and
 * ends by itself.
 */
static void work(void) { __asm__ volatile(""); }

int main(void) {
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp master
    work();
#pragma omp barrier
  }
  return 0;
}
