/* Untied tasks of two parts at the barrier after a single construct, with the calls
 * that a compiler generates for one: the first part puts the task back, and is still
 * leaving when another thread has executed the second and waits at the barrier
 * again. In the last of many regions it stays there until standard input is closed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <omp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROUNDS = 40, UNTIED = 0 };

typedef struct {
  int reserved1, flags, reserved2, reserved3;
  const char *source;
} ident;
typedef int entry(int thread, void *task);

int __kmpc_global_thread_num(ident *);
void *__kmpc_omp_task_alloc(ident *, int thread, int flags, size_t size, size_t shared, entry *);
int __kmpc_omp_task(ident *, int thread, void *task);

static ident place = {0, 2, 0, 0, ";untied_left.c;parts;1;1;;"};
static int part, rounds;
static int begun, over;

/* last keeps the first part of the last task where it is. */
static void last(void) {
  char c;
  printf("READY\n");
  fflush(stdout);
  while (read(0, &c, 1) > 0)
    ;
}

static int parts(int thread, void *task) {
  if (__atomic_fetch_add(&part, 1, __ATOMIC_SEQ_CST) > 0) {
    __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
    return 0;
  }
  __kmpc_omp_task(&place, thread, task);
  __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST))
    usleep(100);
  usleep(2000); /* for the other thread to leave the second part */
  if (++rounds == ROUNDS)
    last();
  return 0;
}

int main(void) {
  alarm(3600);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  for (int i = 0; i < ROUNDS; i++) {
    part = begun = over = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp single
      {
        int thread = __kmpc_global_thread_num(&place);
        __kmpc_omp_task(&place, thread, __kmpc_omp_task_alloc(&place, thread, UNTIED, 64, 0, parts));
        while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
          usleep(100);
      }
    }
  }
  printf("%d iterations\n", rounds);
  return 0;
}
