/* depend.c: tasks and waits with every kind of dependence that compilers make. READY is followed by the dependences
 * of each, in the order of creation: the number, then type (ompt_dependence_type_t, inout for out) and address of each.
 */
#include <omp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IN = 1, INOUT = 3, MUTEXINOUTSET = 4, INOUTSET = 7, ALL_MEMORY = 35, MANY = 40 };

static int a, b, c, many[MANY], ran;
static char *said;
static FILE *out;

static void has(int n, ...) {
  va_list list;
  va_start(list, n);
  fprintf(out, " %d", n);
  for (int i = 0; i < n; i++) {
    int type = va_arg(list, int);
    fprintf(out, " %d %lu", type, (unsigned long)va_arg(list, void *));
  }
  va_end(list);
}

static void run(void) {
#pragma omp atomic
  ran++;
}

#ifdef BY_HAND
#include <dlfcn.h>

/* GCC's code for constructs that older versions lack, and the arrays of GCC before 9. */
extern void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, _Bool, unsigned, void **, int,
                      void *);
extern void GOMP_taskwait_depend(void **);
static void run_task(void *p) {
  (void)p;
  run();
}
static void task(void **depend) { GOMP_task(run_task, NULL, NULL, 0, 1, 1, 8, depend, 0, NULL); }
#define WORD(n) ((void *)(uintptr_t)(n))

static void by_hand(void) {
  has(3, INOUT, &a, IN, &b, IN, &c);
  task((void *[]){WORD(3), WORD(1), &a, &b, &c});
  has(1, INOUT, &b);
  GOMP_taskwait_depend((void *[]){WORD(1), WORD(1), &b});
  void (*nowait)(void **);
  *(void **)&nowait = dlsym(RTLD_DEFAULT, "GOMP_taskwait_depend_nowait");
  if (BY_HAND < 13) return;
  void *inoutset[] = {&a, WORD(5)};
  has(2, INOUT, &c, INOUTSET, &a);
  task((void *[]){WORD(0), WORD(2), WORD(1), WORD(0), WORD(0), &c, inoutset});
  has(1, ALL_MEMORY, NULL);
  task((void *[]){WORD(0), WORD(1), WORD(1), WORD(0), WORD(0), NULL});
  has(1, IN, &b);
  nowait((void *[]){WORD(1), WORD(0), &b});
}
#else
static void by_hand(void) {}
#endif

static void tasks(void) {
  omp_depend_t object;
  has(1, IN, &a);
#pragma omp task depend(in : a)
  run();
  has(3, INOUT, &a, INOUT, &b, IN, &c);
#pragma omp task depend(out : a) depend(in : c) depend(inout : b)
  run();
  has(3, MUTEXINOUTSET, &a, MUTEXINOUTSET, &b, INOUT, &c);
#pragma omp task depend(mutexinoutset : a, b) depend(out : c)
  run();
  has(2, IN, &b, IN, &a);
#pragma omp depobj(object) depend(in : b)
#pragma omp task depend(depobj : object) depend(in : a)
  run();
  has(1, INOUT, &b);
#pragma omp depobj(object) update(inout)
#pragma omp task depend(depobj : object)
  run();
#pragma omp depobj(object) destroy
  has(3, INOUT, &many[0], INOUT, &many[1], INOUT, &many[2]);
#pragma omp task depend(iterator(i = 0 : 3), out : many[i])
  run();
  fprintf(out, " %d", MANY); /* more than are kept */
#pragma omp task depend(iterator(i = 0 : MANY), in : many[i])
  run();
  has(1, INOUT, &c);
#pragma omp taskwait depend(inout : c)
}

int main(void) {
  size_t size;
  out = open_memstream(&said, &size);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    tasks();
    by_hand();
  }
  fclose(out);
  printf("READY %d%s\n", ran, said);
  fflush(stdout);
  for (;;) pause();
}
