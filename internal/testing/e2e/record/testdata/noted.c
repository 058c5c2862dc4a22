/* noted.c: threads use locks, a critical section and tasks in turns, and note their actions. At the end each thread's
 * notes go to the file in the argument: its number, the action, and its object.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, LOCKS = 3, VISITS = 20, TASKS = 8, NOTES = 400 };

struct note {
  const char *what;
  uint64_t with;
};

static omp_lock_t locks[LOCKS];
static struct note notes[THREADS][NOTES];
static int noted[THREADS], lwp[THREADS];
static volatile int sum;

static void note(const char *what, uint64_t with) {
  int me = omp_get_thread_num();
  lwp[me] = (int)syscall(SYS_gettid);
  notes[me][noted[me]++] = (struct note){what, with};
}

__attribute__((noinline)) static void visit(omp_lock_t *lock) {
  omp_set_lock(lock);
  note("acquires", (uintptr_t)lock);
  sum++;
  note("releases", (uintptr_t)lock);
  omp_unset_lock(lock);
}

int main(int argc, char **argv) {
  FILE *to = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (to == NULL) return 1;
  for (int i = 0; i < LOCKS; i++) omp_init_lock(&locks[i]);
#pragma omp parallel num_threads(THREADS)
  {
    for (int i = 0; i < VISITS; i++) visit(&locks[(i + omp_get_thread_num()) % LOCKS]);
#pragma omp barrier
    for (int i = 0; i < VISITS; i++) {
#pragma omp critical(counter)
      {
        note("enters", 0);
        sum++;
        note("leaves", 0);
      }
    }
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
      note("executed", 0);
    }
  }
  for (int i = 0; i < THREADS; i++)
    for (int k = 0; k < noted[i]; k++) {
      fprintf(to, "%d %s", lwp[i], notes[i][k].what);
      if (notes[i][k].with != 0) fprintf(to, " %#jx", (uintmax_t)notes[i][k].with);
      fputc('\n', to);
    }
  return fclose(to) != 0;
}
