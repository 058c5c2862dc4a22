// A deadlock of locks on the heap to which pointers in variables lead. "0": elements of a std::vector in a local
// object. "1": members of the elements of a static std::vector. "2": members of objects to which the elements of a
// std::vector point. "3": single locks of static pointers. "4": members of an array of objects with a destructor.
// "5": members of objects of shared pointers. "6": a std::array, in static memory. "7": members of single objects, one
// in a block with room for another.
// Second argument of 1: a thread that works holds the locks.
#include "truth.h"
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

struct Bucket {
  long items = 0;
  std::mutex lock;
};

struct Node {
  long number = 0;
  omp_lock_t lock;
  Node() { omp_init_lock(&lock); }
  ~Node() { omp_destroy_lock(&lock); }
};

struct Graph {
  int size;
  std::vector<omp_lock_t> locks;
};

static std::vector<Bucket> buckets(8);
static std::vector<std::unique_ptr<Node>> nodes;
static omp_lock_t *inner, *outer;
static Node *pool, *roomy, *tight;
static std::shared_ptr<Node> left, right;
static std::array<std::mutex, 4> doors;
static int here, healthy;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static void take(omp_lock_t &l) { omp_set_lock(&l); }
static void take(std::mutex &m) { m.lock(); }
static void give(omp_lock_t &l) { omp_unset_lock(&l); }
static void give(std::mutex &m) { m.unlock(); }

__attribute__((noinline)) static void works() {
  for (;;)
    pause();
}

template <class L> __attribute__((noinline)) static void both(L &mine, L &other, int me) {
  take(mine);
  __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  if (healthy && me == 1)
    works();
  TRUTH_WAIT("wait_lock", 0, 0);
  take(other);
  give(other);
  give(mine);
}

template <class L> static void each(L &first, L &second, int me) {
  if (me == 0)
    both(first, second, me);
  else
    both(second, first, me);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  long way = truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  Graph g{8, std::vector<omp_lock_t>(8)};
  for (auto &l : g.locks)
    omp_init_lock(&l);
  for (int i = 0; i < 8; i++)
    nodes.push_back(std::make_unique<Node>());
  omp_init_lock(inner = new omp_lock_t);
  omp_init_lock(outer = new omp_lock_t);
  pool = new Node[4];
  left = std::make_shared<Node>();
  right = std::make_shared<Node>();
  roomy = new (malloc(2 * sizeof(Node) + 8)) Node;
  tight = new Node;
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    switch (way) {
    case 0:
      each(g.locks[2], g.locks[3], me);
      break;
    case 1:
      each(buckets[2].lock, buckets[3].lock, me);
      break;
    case 2:
      each(nodes[1]->lock, nodes[2]->lock, me);
      break;
    case 3:
      each(*inner, *outer, me);
      break;
    case 4:
      each(pool[1].lock, pool[3].lock, me);
      break;
    case 5:
      each(left->lock, right->lock, me);
      break;
    case 6:
      each(doors[1], doors[2], me);
      break;
    default:
      each(roomy->lock, tight->lock, me);
    }
  }
  return (int)g.size - 8;
}
