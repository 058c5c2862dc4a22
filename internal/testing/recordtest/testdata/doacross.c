/* doacross.c: loops with iterations that wait for others. Prints "READY", and then for each thread its LWP and the
 * iterations that it posted (5) and waited for (6), in order: the number of the iteration in each loop, from 0 on. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, MOST = 4096 };

static struct note {
  int type, loops;
  long at[7];
} notes[THREADS][MOST];
static int count[THREADS], lwp[THREADS];

static void note(int type, int loops, long a, long b, long c, long d, long e, long f, long g) {
  int me = omp_get_thread_num();
  lwp[me] = (int)syscall(SYS_gettid);
  if (count[me] == MOST) abort();
  notes[me][count[me]++] = (struct note){type, loops, {a, b, c, d, e, f, g}};
}

#define NOTE1(type, a) note(type, 1, a, 0, 0, 0, 0, 0, 0)
#define NOTE2(type, a, b) note(type, 2, a, b, 0, 0, 0, 0, 0)

static int cell[64][64];
static unsigned long long wide[64];

static void one(void) {
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 3; i < 40; i += 2) {
#pragma omp ordered depend(sink : i - 2)
    if (i - 2 >= 3) NOTE1(6, (i - 2 - 3) / 2);
    cell[i][0] = cell[i - 2][0] + 1;
    NOTE1(5, (i - 3) / 2);
#pragma omp ordered depend(source)
  }
}

static void two(void) {
#pragma omp for ordered(2) schedule(dynamic)
  for (int i = 1; i < 12; i++)
    for (int j = 1; j < 9; j++) {
#pragma omp ordered depend(sink : i - 1, j)
      if (i > 1) NOTE2(6, i - 2, j - 1);
#pragma omp ordered depend(sink : i, j - 1)
      if (j > 1) NOTE2(6, i - 1, j - 2);
      cell[i][j] = cell[i - 1][j] + cell[i][j - 1];
      NOTE2(5, i - 1, j - 1);
#pragma omp ordered depend(source)
    }
}

static void far(void) {
#pragma omp for ordered(1) schedule(guided)
  for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 30; i++) {
    long n = (long)(i - (1ull << 63));
#pragma omp ordered depend(sink : i - 1)
    if (n > 0) NOTE1(6, n - 1);
    wide[n + 1] = wide[n] + 1;
    NOTE1(5, n);
#pragma omp ordered depend(source)
  }
}

static void seven(void) {
#pragma omp for ordered(7) schedule(static)
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 2; b++)
      for (int c = 0; c < 2; c++)
        for (int d = 0; d < 2; d++)
          for (int e = 0; e < 2; e++)
            for (int f = 0; f < 2; f++)
              for (int g = 0; g < 2; g++) {
#pragma omp ordered depend(sink : a - 1, b, c, d, e, f, g)
                if (a > 0) note(6, 7, a - 1, b, c, d, e, f, g);
                note(5, 7, a, b, c, d, e, f, g);
#pragma omp ordered depend(source)
              }
}

int main(void) {
#pragma omp parallel num_threads(THREADS)
  {
    one();
    two();
    far();
    seven();
  }
  printf("READY\n");
  for (int t = 0; t < THREADS; t++)
    for (int n = 0; n < count[t]; n++) {
      printf("%d %d %d", lwp[t], notes[t][n].type, notes[t][n].loops);
      for (int i = 0; i < notes[t][n].loops; i++) printf(" %ld", notes[t][n].at[i]);
      printf("\n");
    }
  printf("DONE %d %llu\n", cell[39][0], wide[30]);
  fflush(stdout);
  pause();
  return 0;
}
