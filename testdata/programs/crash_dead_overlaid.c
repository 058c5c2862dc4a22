/* A task uses a variable of a function that has returned, as a taskwait is missing, and finds other contents there: the
 * memory is in a newer frame of the thread that created the task. Argument 1 is the situation: the frame is of
 *   other    another task, which that thread executes, or of the runtime that executes it
 *   barrier  the runtime, or the C library, in a barrier
 *   own      the task itself, which that thread executes, or of the runtime that executes it
 *   call     a function that was called later
 * In the others, the variable exists, and contains a null pointer:
 *   waits    its function waits for the task
 *   inner    it is the copy that a task which runs at once has of a variable, and waits for the task
 *   innerown the same, and the thread executes the inner task itself
 *   value    it is an argument that was passed in memory, and the function waits for the task */
#include "truth.h"

enum { ROWS = 4, MAGIC = 0x5eed };

struct tile { long magic[ROWS]; float *row; };

static float all[16];
static float *volatile nothing; /* a null pointer that compilers do not know */
static volatile float sum;
static volatile int started, go, never, busy;
static int lives, on_creator;
static uintptr_t end; /* of the dead variable */

/* changed waits until the contents of a dead variable are others, and returns a null pointer then. */
static inline float *changed(volatile struct tile *t) {
  if (!lives)
    while (t->magic[0] == MAGIC && t->magic[1] == MAGIC && t->magic[2] == MAGIC && t->magic[ROWS - 1] == MAGIC)
      if (on_creator)
        abort(); /* a situation that the test does not have */
  return lives ? t->row : nothing;
}

static inline void fill(struct tile *t) {
  for (int i = 0; i < ROWS; i++)
    t->magic[i] = MAGIC;
  t->row = lives ? NULL : all;
}

__attribute__((noinline)) static void add(int column) {
  struct tile tile;
  fill(&tile);
  end = (uintptr_t)(&tile + 1);
#pragma omp task shared(tile) firstprivate(column)
  {
    truth_set(&started);
    if (!lives && !on_creator)
      truth_until(&go);
    sum = changed(&tile)[column];
  }
  if (lives) {
    truth_until(&started);
#pragma omp taskwait
  }
}

__attribute__((noinline)) static void add_inner(int column) {
  struct tile tile;
  fill(&tile);
#pragma omp task if(0) firstprivate(tile)
  {
#pragma omp task shared(tile) firstprivate(column)
    {
      truth_set(&started);
      sum = changed(&tile)[column];
    }
    if (!on_creator)
      truth_until(&started);
#pragma omp taskwait
  }
}

__attribute__((noinline)) static void add_value(struct tile tile, int column) {
#pragma omp task shared(tile) firstprivate(column)
  {
    truth_set(&started);
    sum = changed(&tile)[column];
  }
  truth_until(&started);
#pragma omp taskwait
}

__attribute__((noinline)) static void later(void) {
  char room[4000];
  memset(room, 0, sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
  truth_set(&go);
  truth_until(&never);
  __asm__ volatile("" : : "r"(room) : "memory");
}

/* meet enters a barrier with the frames of the runtime at the end of the dead variable. */
__attribute__((noinline)) static void meet(void) {
  if ((uintptr_t)__builtin_frame_address(0) > end + 16)
    meet();
  else {
    truth_set(&go);
#pragma omp barrier
  }
  __asm__ volatile(""); /* no tail calls */
}

/* create creates the task, and does what the situation says. */
static void create(const char *how) {
  struct tile tile;
  if (!strcmp(how, "inner") || !strcmp(how, "innerown"))
    return add_inner(3);
  if (!strcmp(how, "value")) {
    fill(&tile);
    return add_value(tile, 3);
  }
  add(3);
  if (!strcmp(how, "own")) {
#pragma omp taskwait
    return;
  }
  truth_until(&started);
  if (!strcmp(how, "call"))
    later();
  if (!strcmp(how, "other")) {
#pragma omp task
    {
      later();
      __asm__ volatile(""); /* no tail call */
    }
#pragma omp taskwait
  }
  if (!strcmp(how, "barrier"))
    meet();
  truth_set(&go);
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  const char *how = argc > 2 ? argv[2] : "other";
  lives = !strcmp(how, "waits") || !strncmp(how, "inner", 5) || !strcmp(how, "value");
  on_creator = !strcmp(how, "own") || !strcmp(how, "innerown");
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      truth_until(&busy);
      truth_write(1);
      create(how);
    } else {
      truth_set(&busy);
      if (on_creator)
        truth_until(&never); /* it executes no task */
      if (!strcmp(how, "barrier")) {
#pragma omp barrier
      }
    }
  }
  return 0;
}
