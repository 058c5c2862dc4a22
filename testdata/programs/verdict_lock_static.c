/* Three threads wait for memory that is no lock: they take an element past the end of an array of locks. "0": a global
 * array; "1": a static one of a function; "2": a member of a structure, whose next member is there; "3": an array of
 * structures; "4": an array on the stack of main; "5": a global array through a pointer; "6": as "0", and the smallest
 * index is 1; "7": the element is in another array of locks, and the thread holds that lock. A second argument of 1:
 * the index is in range, and a thread that works has all locks of the arrays. The memory is what both runtimes take
 * for a lock that a thread has. */
#include "truth.h"

#define SIZE 16
#define HELD 0x103 /* LLVM's runtime: a test-and-set lock of thread 0 */

struct row {
  omp_lock_t lock;
  long value;
};

static int way, healthy;
static volatile int have;

omp_lock_t table[SIZE];
static omp_lock_t *volatile to_table = table;
static struct {
  omp_lock_t locks[SIZE];
  long cells[SIZE];
} grid;
static struct row rows[SIZE];
static long cells[64];
static omp_lock_t beside[SIZE];

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

/* start returns the static array of a function. */
__attribute__((noinline)) static omp_lock_t *in_function(long i, int sets) {
  static omp_lock_t own[SIZE];
  if (sets) {
    omp_set_lock(&own[i]);
    cells[0]++;
    omp_unset_lock(&own[i]);
  }
  return own;
}

__attribute__((noinline)) static void in_table(long i) {
  omp_set_lock(&table[i]);
  cells[0]++;
  omp_unset_lock(&table[i]);
}

__attribute__((noinline)) static void from_one(long i) {
  omp_set_lock(&table[i - 1]);
  cells[0]++;
  omp_unset_lock(&table[i - 1]);
}

__attribute__((noinline)) static void in_grid(long i) {
  omp_set_lock(&grid.locks[i]);
  cells[0]++;
  omp_unset_lock(&grid.locks[i]);
}

__attribute__((noinline)) static void in_rows(long i) {
  omp_set_lock(&rows[i].lock);
  rows[0].value++;
  omp_unset_lock(&rows[i].lock);
}

__attribute__((noinline)) static void by_pointer(omp_lock_t *volatile *locks, long i) {
  omp_lock_t *const *at = (omp_lock_t *const *)locks;
  omp_set_lock(&(*at)[i]);
  cells[0]++;
  omp_unset_lock(&(*at)[i]);
}

__attribute__((noinline)) static void in_both(long i, long held) {
  omp_set_lock(&beside[held]);
  omp_set_lock(&table[i]);
  cells[0]++;
  omp_unset_lock(&table[i]);
  omp_unset_lock(&beside[held]);
}

/* distance returns the index of to in an array of elements of that size at from. */
static long distance(const void *from, const void *to, long size) {
  return ((const char *)to - (const char *)from) / size;
}

static void set_all(omp_lock_t *stack) {
  for (int i = 0; i < SIZE; i++) {
    omp_set_lock(&table[i]);
    omp_set_lock(&in_function(0, 0)[i]);
    omp_set_lock(&grid.locks[i]);
    omp_set_lock(&rows[i].lock);
    omp_set_lock(&stack[i]);
  }
}

static void unset_all(omp_lock_t *stack) {
  for (int i = 0; i < SIZE; i++) {
    omp_unset_lock(&table[i]);
    omp_unset_lock(&in_function(0, 0)[i]);
    omp_unset_lock(&grid.locks[i]);
    omp_unset_lock(&rows[i].lock);
    omp_unset_lock(&stack[i]);
  }
}

int main(int argc, char **argv) {
  struct {
    omp_lock_t locks[SIZE];
  } stack;
  volatile long after[64];
  omp_lock_t *volatile to_stack = stack.locks;
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  for (int i = 0; i < 64; i++)
    cells[i] = after[i] = HELD;
  for (int i = 0; i < SIZE; i++) {
    grid.cells[i] = rows[i].value = HELD;
    omp_init_lock(&table[i]);
    omp_init_lock(&beside[i]);
    omp_init_lock(&in_function(0, 0)[i]);
    omp_init_lock(&grid.locks[i]);
    omp_init_lock(&rows[i].lock);
    omp_init_lock(&stack.locks[i]);
  }
  long where[] = {distance(table, &cells[32], sizeof *table), distance(in_function(0, 0), &cells[32], sizeof *table),
                  distance(grid.locks, &grid.cells[4], sizeof *table), distance(rows, &cells[32], sizeof *rows),
                  distance(&stack, (const void *)&after[32], sizeof *table), distance(table, &cells[32], sizeof *table),
                  distance(table, &cells[32], sizeof *table) + 1, distance(table, &beside[4], sizeof *table)};
  pthread_create(&observer, NULL, look, (void *)3L);
#pragma omp parallel num_threads(healthy ? 4 : 3)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    long i = healthy ? 4 : where[way];
    if (healthy && me == 0)
      set_all(stack.locks);
#pragma omp barrier
    if (healthy && me == 0) {
      while (healthy)
        pause();
      unset_all(stack.locks);
    } else {
      TRUTH_WAIT("wait_lock", 0, 0);
      switch (way) {
      case 0: in_table(i); break;
      case 1: in_function(i, 1); break;
      case 2: in_grid(i); break;
      case 3: in_rows(i); break;
      case 4: by_pointer(&to_stack, i); break;
      case 5: by_pointer(&to_table, i); break;
      case 7: in_both(i, 4); break;
      default: from_one(i);
      }
    }
  }
  return (int)after[0];
}
