// Two threads wait for each other's locks, in code that could be left by an exception, but was not: no handler would
// have caught it. "0": mutexes with guards. "1": locks in a std::vector, one of which is released under a condition,
// around code that allocates memory. "2": the same, with code that throws in a function that is noexcept. "3": the
// exception was thrown, caught, and left a lock: only this is an explanation.
// Second argument of 1: the same code, and a thread that works holds the lock that the others wait for.
#include "truth.h"
#include <mutex>
#include <stdexcept>
#include <vector>

static std::mutex doors[8];
static long visits[8];
static int way, healthy, here;
static volatile int late = 1, negative, taken;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void both_here() {
  __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
}

__attribute__((noinline)) static void works() {
  while (healthy)
    pause();
}

struct Edge {
  int unused;
  bool update(unsigned from, unsigned to) {
    std::lock_guard<std::mutex> one(doors[from]);
    both_here();
    if (from == 1)
      works();
    TRUTH_WAIT("wait_mutex", 0, 0);
    std::lock_guard<std::mutex> other(doors[to]);
    visits[to]++;
    return visits[from] < visits[to];
  }
};

struct Graph {
  std::vector<omp_lock_t> locks;
  std::vector<std::vector<int>> links;
  explicit Graph(int n) : locks(n), links(n) {
    for (auto &l : locks)
      omp_init_lock(&l);
  }
  void link(int from, int to) {
    TRUTH_WAIT("wait_lock", 0, 0);
    omp_set_lock(&locks[from]);
    links[from].push_back(to);
    omp_unset_lock(&locks[from]);
  }
  void insert(int node, int neighbour) {
    bool keep = late;
    omp_set_lock(&locks[node]);
    links[node].push_back(neighbour);
    if (!keep)
      omp_unset_lock(&locks[node]);
    both_here();
    if (node == 1)
      works();
    link(neighbour, node);
    if (keep)
      omp_unset_lock(&locks[node]);
  }
  __attribute__((noinline)) void check(int node) {
    if (negative)
      throw std::runtime_error("negative");
    links[node].push_back(node);
  }
  void insert_checked(int node, int neighbour) noexcept {
    bool keep = late;
    omp_set_lock(&locks[node]);
    check(node);
    if (!keep)
      omp_unset_lock(&locks[node]);
    both_here();
    if (node == 1)
      works();
    link(neighbour, node);
    if (keep)
      omp_unset_lock(&locks[node]);
  }
  __attribute__((noinline)) void add(int node) {
    omp_set_lock(&locks[node]);
    check(node); // the way without a release
    omp_unset_lock(&locks[node]);
  }
};

__attribute__((noinline)) static void leaves(Graph &g, int me) {
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 1) {
#pragma omp barrier
      if (healthy && me == 1) {
        omp_set_lock(&g.locks[0]);
        truth_set(&taken);
        works();
        omp_unset_lock(&g.locks[0]);
      }
      if (healthy)
        truth_until(&taken);
      TRUTH_WAIT("wait_lock", 0, 0);
    }
    negative = turn == 0 && !healthy;
    if (turn == 1 || me == 0) {
      try {
        g.add(0);
      } catch (const std::exception &) {
        usleep(1);
      }
    }
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  healthy = (int)truth_arg(argc, argv, 2, 0);
  Graph g(8);
  Edge e;
  pthread_create(&observer, NULL, look, (void *)(healthy ? 1L : 2L));
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    int me = omp_get_thread_num();
    if (way == 0)
      e.update(me, 1 - me);
    else if (way == 1)
      g.insert(me, 1 - me);
    else if (way == 2)
      g.insert_checked(me, 1 - me);
    else
      leaves(g, me);
  }
  return 0;
}
