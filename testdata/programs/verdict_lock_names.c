/* A deadlock of locks that are not separate variables: members of elements of an array (argv[2] 0),
 * of an array on the heap (1), of a static array in a function (2), or of a two-dimensional one (3). */
#include "truth.h"

struct account {
  long balance;
  omp_lock_t lock;
};

struct seat {
  int number;
  struct {
    omp_lock_t fork;
    long uses;
  } left;
};

static struct account accts[4];
static struct seat *table;
static omp_lock_t grid[3][5];
static volatile int held;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static omp_lock_t *place(long what, int i) {
  static struct account inner[3];
  switch (what) {
  case 0:
    return &accts[1 + i].lock;
  case 1:
    return &table[2 + i].left.fork;
  case 2:
    return &inner[1 + i].lock;
  }
  return &grid[2][3 + i];
}

__attribute__((noinline)) static void both(omp_lock_t *mine, omp_lock_t *other) {
  omp_set_lock(mine);
  __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  TRUTH_WAIT("wait_lock", other, __LINE__ + 1);
  omp_set_lock(other); /* what comes after keeps its values alive */
  omp_unset_lock(other);
  omp_unset_lock(mine);
}

int main(int argc, char **argv) {
  pthread_t observer;
  omp_lock_t *locks[2];
  long what = truth_arg(argc, argv, 1, 0);
  truth_init(argc, argv, __FILE__);
  table = calloc(8, sizeof *table);
  for (int i = 0; i < 2; i++)
    omp_init_lock(locks[i] = place(what, i));
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    both(locks[me], locks[1 - me]);
  }
  return 0;
}
