// Three threads wait for memory that is no lock. "0": just past the end of the array of locks, where malloc has data of
// its own. "1": in the blocks of memory after it. "2": a lock that was destroyed, in a block that was freed.
// LLVM's runtime crashes instead: "3" is as "2", where one thread alone comes to the lock. Second argument of 1: locks
// of the array, or one that was not freed; the thread that holds them works. Third argument: the first word of the
// freed block, instead of malloc's data, which differ from run to run.
#include "truth.h"
#include <vector>

struct Grid {
  std::vector<omp_lock_t> locks;
  std::vector<unsigned> cells;
  Grid(int n, int cell) : locks(n), cells(4096, cell) {
    for (auto &l : locks)
      omp_init_lock(&l);
  }
  __attribute__((noinline)) void add(int i, unsigned v) {
    omp_set_lock(&locks[i]);
    cells[i] += v;
    omp_unset_lock(&locks[i]);
  }
};

static int way, healthy;
static unsigned word;
static volatile int stop;
static omp_lock_t *one;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void *holds(void *grid) { // works, and releases all locks then
  Grid *g = (Grid *)grid;
  for (int i = 0; i < 32; i++)
    omp_set_lock(&g->locks[i]);
  omp_set_lock(one);
  truth_set(&stop);
  while (healthy)
    pause();
  for (int i = 0; i < 32; i++)
    omp_unset_lock(&g->locks[i]);
  omp_unset_lock(one);
  return NULL;
}

__attribute__((noinline)) static void count(void) {
  omp_set_lock(one);
  stop++;
  omp_unset_lock(one);
}

int main(int argc, char **argv) {
  pthread_t observer, holder;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  word = (unsigned)truth_arg(argc, argv, 3, 0);
  /* LLVM's runtime finds the functions of a lock by its word. */
  const int size = (int)(264 / sizeof(omp_lock_t));
  Grid g(size, 0x5550);
  one = (omp_lock_t *)malloc(24);
  omp_init_lock(one);
  if (healthy) {
    pthread_create(&holder, NULL, holds, &g);
    truth_until(&stop);
  } else if (way >= 2) {
    omp_destroy_lock(one);
    memset(one, 0x55, sizeof *one);
    free(one);
  }
  if (way != 3)
    pthread_create(&observer, NULL, look, (void *)3L);
#pragma omp parallel num_threads(3)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num(), first = healthy ? 0 : size;
    if (way == 3) {
      if (me > 0)
        truth_hold("work_parallel", 1);
      truth_await(2);
      truth_write(1);
      if (word)
        *(volatile unsigned *)one = word;
      count();
    }
    TRUTH_WAIT("wait_lock", 0, 0);
    if (way == 2)
      count();
    else if (way == 1)
      g.add(first + (healthy ? 0 : 8) + 4 * me, 1);
    else
      g.add(first, 1);
  }
  return 0;
}
