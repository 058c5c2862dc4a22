// An exception leaves a function that holds a lock, out of code that is called through a pointer. Another function
// may throw while it holds the lock, too, and a thread has called it: it is not the only explanation. First argument:
// "0", a pointer to a function in a table; "1", a virtual function; "2", a std::function; "3", nothing is thrown, and
// two threads wait for each other's locks after such calls. Second argument of 1: nothing is thrown, and a thread that
// works holds the lock.
#include "truth.h"
#include <functional>
#include <stdexcept>

static omp_lock_t store, ledger;
static int way, healthy, here;
static volatile int taken, limit = 10, total;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void works() {
  while (healthy)
    pause();
}

__attribute__((noinline)) static void both_here() {
  __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

typedef void (*codec)(int);

__attribute__((noinline)) static void strict(int size) {
  if (size > limit)
    throw std::length_error("too large");
  total += size;
}

static void lenient(int size) { total += size; }

static const codec table[] = {lenient, strict};
static volatile int chosen = 1;

struct Filter {
  virtual ~Filter() {}
  virtual void apply(int size) = 0;
};
struct Even : Filter {
  void apply(int size) override { total += size / 2; }
};
struct Bounded : Filter {
  void apply(int size) override {
    if (size > limit)
      throw std::range_error("bound");
    total += size;
  }
};

// A thread has called it, and nothing was thrown.
__attribute__((noinline)) static void reserve(int size) {
  omp_set_lock(&store);
  if (size > limit)
    throw std::invalid_argument("reserve");
  total -= size;
  omp_unset_lock(&store);
}

__attribute__((noinline)) static void relay(codec c, int size) { c(size); } // a jump, if optimized

__attribute__((noinline)) static void encode(codec c, int size) {
  omp_set_lock(&store);
  relay(c, size); // way 0
  omp_unset_lock(&store);
}

__attribute__((noinline)) static void sift(Filter *f, int size) {
  omp_set_lock(&store);
  f->apply(size); // way 1
  omp_unset_lock(&store);
}

__attribute__((noinline)) static void hand_on(const std::function<void(int)> &f, int size) {
  omp_set_lock(&store);
  f(size); // way 2
  omp_unset_lock(&store);
}

__attribute__((noinline)) static void both(codec c, omp_lock_t *one, omp_lock_t *other, int works_now) {
  omp_set_lock(one);
  c(1);
  both_here();
  if (works_now)
    works();
  TRUTH_WAIT("wait_lock", 0, 0);
  omp_set_lock(other);
  total++;
  omp_unset_lock(other);
  omp_unset_lock(one);
}

__attribute__((noinline)) static void keep() {
  omp_set_lock(&store);
  truth_set(&taken);
  works();
  omp_unset_lock(&store);
}

__attribute__((noinline)) static void step(int me, int size, Filter *f, int early) {
  try {
    if (early)
      reserve(1);
    if (way == 0)
      encode(table[chosen], size);
    else if (way == 1)
      sift(f, size);
    else if (way == 2)
      hand_on(table[chosen], size);
    else
      both(table[chosen], me == 0 ? &store : &ledger, me == 0 ? &ledger : &store, me == 1);
  } catch (const std::logic_error &) {
    usleep(1);
  } catch (const std::exception &) {
    usleep(2);
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&store);
  omp_init_lock(&ledger);
  Even even;
  Bounded bounded;
  Filter *filters[] = {&even, &bounded};
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (way < 3 && me == 0)
      step(me, healthy ? 1 : 100, filters[chosen], 1);
#pragma omp barrier
    if (healthy && way < 3 && me == 1)
      keep();
    if (healthy && way < 3)
      truth_until(&taken);
    if (way < 3)
      TRUTH_WAIT("wait_lock", 0, 0);
    step(me, 1, filters[chosen], 0);
  }
  return total < 0;
}
