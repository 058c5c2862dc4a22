/* Three sections that wait for each other, in a team of two threads: GNU's runtime does not start the third one,
 * clang's code the second one. "0": flags, in loops that sleep; "1": semaphores. Second argument of 1: a thread for
 * each section, and one of them works; of 2: two sections, which are both started.
 *
 * The threads are those of a child; its parent waits. */
#include "truth.h"
#include <semaphore.h>

static int way, form, mail[3];
static sem_t posts[3];

static int count(int box) { return __atomic_load_n(&mail[box], __ATOMIC_ACQUIRE); }

static void await(int box) {
  truth_watched(2);
  if (way == 1)
    while (sem_wait(&posts[box]) != 0)
      ;
  else
    while (count(box) == 0)
      usleep(200);
}

static void give(int box) {
  sem_post(&posts[box]);
  __atomic_fetch_add(&mail[box], 1, __ATOMIC_ACQ_REL);
}

__attribute__((noinline)) static void first(void) { await(0); }

__attribute__((noinline)) static void second(void) {
  give(2);
  await(1);
  give(0);
}

__attribute__((noinline)) static void third(void) {
  while (form == 1)
    pause(); /* works on, for ever */
  give(1);
  await(2);
}

__attribute__((noinline)) static void pair(void) {
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    first();
#pragma omp section
    second();
  }
}

int main(int argc, char **argv) {
  way = (int)truth_arg(argc, argv, 1, 0);
  form = (int)truth_arg(argc, argv, 2, 0);
  truth_child(2);
  truth_init(argc, argv, __FILE__);
  for (int i = 0; i < 3; i++)
    sem_init(&posts[i], 0, 0);
  if (form == 2)
    pair();
#pragma omp parallel sections num_threads(form == 1 ? 3 : 2)
  {
#pragma omp section
    first();
#pragma omp section
    second();
#pragma omp section
    third();
  }
  return 0;
}
