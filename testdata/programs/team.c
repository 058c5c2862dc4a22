/* A team of OMP_NUM_THREADS threads, for debuggers that run it from its start:
 * they stop in work, when all threads have started, and all except the first are
 * at a barrier, or about to reach it. It writes no truth and ends by itself.
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
