// A graph traversal: the levels of a random graph's vertices, by rounds over a frontier, and the shortest paths,
// by buckets of distances. -DBUG=N puts one mistake into it. TestInjectedBugs reads this list, and the lines that
// have HERE with the number of a mistake.
//
// BUG 1 barrier_divergent|crash: a worksharing loop under an if; out of step, threads may change a vector at once
// BUG 2 barrier_divergent: a break before a barrier
// BUG 3 lock_orphaned: the lock of a bucket is not released on one path
// BUG 4 self_deadlock: a std::mutex is held across a region whose threads lock it
// BUG 5 crash: an exception leaves the region
// BUG 6 crash: an index is out of bounds
// BUG 7 self_deadlock: exit in a region with a mutex held that a destructor locks
// BUG 8 never_woken: a condition variable is notified before the others wait for it, without a condition
// BUG 9 deadlock: two buckets are locked in both orders
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#ifndef BUG
#define BUG 0
#endif

namespace {

struct Edge {
  int to, weight;
};

class Graph {
public:
  Graph(int vertices, int degree) : edges_(vertices) {
    unsigned seed = 1;
    auto random = [&seed](unsigned n) { return (seed = seed * 1664525u + 1013904223u) / 256 % n; };
    for (int v = 0; v < vertices; v++) {
      edges_[v].push_back({(v + 1) % vertices, 8}); // so that all can be reached
      for (int i = 1; i < degree; i++)
        edges_[v].push_back({int(random(vertices)), int(1 + random(8))});
    }
  }
  int size() const { return int(edges_.size()); }
  const std::vector<Edge> &from(int v) const { return edges_[v]; }

private:
  std::vector<std::vector<Edge>> edges_;
};

// Journal counts events, and prints their number at the end of the program.
class Journal {
public:
  ~Journal() {
    std::lock_guard<std::mutex> hold(mutex_); // HERE 7
    std::printf("%ld events\n", events_);
  }
  void add(long events) {
    std::lock_guard<std::mutex> hold(mutex_);
    events_ += events;
#if BUG == 7
    if (events_ > 1)
      std::exit(0); // HERE 7
#endif
  }

private:
  std::mutex mutex_;
  long events_ = 0;
};

Journal journal;

const Edge &cheapest(const Graph &graph, int v) {
  const std::vector<Edge> &all = graph.from(v);
#if BUG == 5
  if (all.size() > 2)
    throw std::out_of_range("vertex with too many edges"); // HERE 5
#endif
  return *std::min_element(all.begin(), all.end(), [](const Edge &a, const Edge &b) { return a.weight < b.weight; });
}

// levels returns the number of edges from a vertex to each other.
std::vector<int> levels(const Graph &graph, int source) {
  std::vector<std::atomic<int>> level(graph.size());
  for (auto &l : level)
    l = -1;
  level[source] = 0;
  std::vector<int> frontier{source}, next;
  std::mutex merging;
#if BUG == 4
  std::lock_guard<std::mutex> whole(merging); // HERE 4
#endif
#pragma omp parallel
  {
    std::vector<int> mine;
    for (int depth = 1; !frontier.empty(); depth++) {
      mine.clear();
#if BUG == 1
      if (depth != 2 || omp_get_thread_num() != 1) // HERE 1
#endif
#pragma omp for schedule(static, 16) // HERE 1
      for (size_t i = 0; i < frontier.size(); i++) { // HERE 1
        for (const Edge &e : graph.from(frontier[i])) { // HERE 1
          int unseen = -1;
#if BUG == 6
          int to = e.to * 100003 + (1 << 24);
#else
          int to = e.to;
#endif
          if (level[to].compare_exchange_strong(unseen, depth)) // HERE 6
            mine.push_back(to);
        }
      }
      {
        std::lock_guard<std::mutex> hold(merging); // HERE 4
        next.insert(next.end(), mine.begin(), mine.end()); // HERE 1
      }
      journal.add(long(mine.size()));
#if BUG == 2
      if (depth == 3 && omp_get_thread_num() == 1)
        break; // HERE 2
#endif
#pragma omp barrier // HERE 1 2
#pragma omp single // HERE 1 2
      {
        std::swap(frontier, next);
        next.clear();
      }
    }
  }
  return {level.begin(), level.end()};
}

// Bucket is a set of vertices that have distances in one interval.
struct Bucket {
  omp_lock_t lock;
  std::vector<std::pair<int, long>> entries;

  Bucket() { omp_init_lock(&lock); }
  ~Bucket() { omp_destroy_lock(&lock); }
  Bucket(const Bucket &) = delete;
};

constexpr long width = 4;    // of an interval of distances
constexpr size_t ring = 16; // buckets: no edge is longer than these

class Paths {
public:
  explicit Paths(const Graph &graph) : graph_(graph), distance_(graph.size(), std::numeric_limits<long>::max()) {}

  std::vector<long> from(int source) {
    distance_[source] = 0;
    buckets_[0].entries.emplace_back(source, 0);
    start();
#pragma omp parallel
    {
      await();
      for (;;) {
#pragma omp single
        pick();
        if (done_)
          break;
        relax();
      }
    }
    return distance_;
  }

private:
  // pick takes the entries of the next bucket that has some.
  void pick() {
    work_.clear();
    for (size_t i = 0; i < ring; i++, now_++) {
      std::vector<std::pair<int, long>> &entries = buckets_[now_ % ring].entries;
      if (!entries.empty()) {
        std::swap(work_, entries);
        return;
      }
    }
    done_ = true;
  }

  void start() {
    std::lock_guard<std::mutex> hold(mutex_);
    ready_ = true;
    changed_.notify_all();
  }

  void await() {
    std::unique_lock<std::mutex> hold(mutex_);
#if BUG == 8
    changed_.wait(hold); // HERE 8
#else
    changed_.wait(hold, [this] { return ready_; });
#endif
  }

  // relax follows the edges of the entries.
  void relax() {
#pragma omp for schedule(dynamic, 8)
    for (size_t i = 0; i < work_.size(); i++)
      for (const Edge &e : graph_.from(work_[i].first))
        offer(e.to, work_[i].second + e.weight);
  }

  // offer adds a vertex to the bucket of a distance, if that is its shortest so far.
  void offer(int v, long distance) {
    Bucket &bucket = buckets_[size_t(distance / width) % ring];
    Bucket &vertex = vertices_[size_t(v) % ring];
#if BUG == 9
    bool reverse = omp_get_thread_num() % 2 == 1;
    omp_set_lock(reverse ? &bucket.lock : &vertex.lock); // HERE 9
    omp_set_lock(reverse ? &vertex.lock : &bucket.lock); // HERE 9
#else
    omp_set_lock(&vertex.lock);
    omp_set_lock(&bucket.lock); // HERE 3
#endif
    if (distance >= distance_[v]) { // HERE 3
#if BUG == 3
      omp_unset_lock(&vertex.lock); // HERE 3
      return;
#endif
    } else {
      distance_[v] = distance;
      bucket.entries.emplace_back(v, distance);
    }
    omp_unset_lock(&bucket.lock);
    omp_unset_lock(&vertex.lock);
  }

  const Graph &graph_;
  std::vector<long> distance_;
  std::vector<std::pair<int, long>> work_;
  Bucket buckets_[ring], vertices_[ring];
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t now_ = 0;
  bool done_ = false, ready_ = false;
};

// agree reports whether each path is as short as its edges allow.
bool agree(const Graph &graph, const std::vector<int> &level, const std::vector<long> &distance) {
  for (int v = 0; v < graph.size(); v++) {
    if (level[v] < 0 || distance[v] < level[v] || distance[v] > 8L * level[v])
      return false;
    for (const Edge &e : graph.from(v))
      if (level[e.to] > level[v] + 1 || distance[e.to] > distance[v] + e.weight)
        return false;
  }
  return true;
}
} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  Graph graph(4000, 6);
  long cheap = 0;
#pragma omp parallel for reduction(+ : cheap)
  for (int v = 0; v < graph.size(); v++)
    cheap += cheapest(graph, v).weight;
  for (int round = 0; round < rounds; round++) {
    int source = round % graph.size();
    if (!agree(graph, levels(graph, source), Paths(graph).from(source)))
      return 1;
  }
  return cheap > 0 ? 0 : 1;
}
