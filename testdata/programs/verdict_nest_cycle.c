/* A deadlock of two nest locks; one is acquired twice. */
#include "truth.h"

static omp_nest_lock_t tree, leaf;
static volatile int held_tree, held_leaf;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void down(void) {
  omp_set_nest_lock(&tree);
  omp_set_nest_lock(&tree);
  truth_set(&held_tree);
  truth_until(&held_leaf);
  TRUTH_WAIT("wait_lock", &leaf, __LINE__ + 1);
  omp_set_nest_lock(&leaf);
  TRUTH_NEVER();
}

__attribute__((noinline)) static void up(void) {
  omp_set_nest_lock(&leaf);
  truth_set(&held_leaf);
  truth_until(&held_tree);
  TRUTH_WAIT("wait_lock", &tree, __LINE__ + 1);
  omp_set_nest_lock(&tree);
  TRUTH_NEVER();
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  omp_init_nest_lock(&tree);
  omp_init_nest_lock(&leaf);
  pthread_create(&observer, NULL, look, (void *)2);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0)
      down();
    else
      up();
  }
  return 0;
}
