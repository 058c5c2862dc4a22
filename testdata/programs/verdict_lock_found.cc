// A cache with a lookup that returns without releasing its lock if the search fails; then all
// threads wait for the lock. Around it is inlined code of the C++ library that throws if a
// check fails: "0". "1": the same with a vector's at(); its check could leave the lock, too.
// Second argument: 0 hangs; "1" looks alike, and one more thread, which works, holds the lock.
#include "truth.h"
#include <map>
#include <vector>

static omp_lock_t lock;
static std::map<int, std::vector<int>> entries;
static std::vector<int> rows(8);
static int way, twin;
static volatile int never, misses, held;
static volatile int keys[2] = {7, 1};

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

static std::vector<int> *find(int key) {
  omp_set_lock(&lock);
  auto it = entries.find(key);
  if (it == entries.end())
    return nullptr; // the way without a release
  omp_unset_lock(&lock);
  return &it->second;
}

static int row(int key) {
  omp_set_lock(&lock);
  if (key > 6)
    return 0; // the way without a release
  int value = rows.at(key);
  omp_unset_lock(&lock);
  return value;
}

static void insert(int key, int n) {
  omp_set_lock(&lock);
  entries[key] = std::vector<int>(n, key);
  omp_unset_lock(&lock);
}

static void *work(void *unused) {
  (void)unused;
  omp_set_lock(&lock);
  truth_set(&held);
  while (!never)
    pause(); // works on
  omp_unset_lock(&lock);
  return NULL;
}

static long turn(int n) {
  long sum = 0;
  if (n == 1) {
#pragma omp barrier
    if (twin)
      truth_until(&held);
    TRUTH_WAIT("wait_lock", &lock, 0);
    insert(n, 4);
  }
  if (twin == 0 && omp_get_thread_num() == 0) {
    if (way == 1)
      sum += row(keys[n]);
    else if (auto *v = find(keys[n]))
      sum += v->size();
  }
  return sum;
}

int main(int argc, char **argv) {
  pthread_t observer, worker;
  long sum = 0;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  twin = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&lock);
  insert(1, 3);
  if (twin)
    pthread_create(&worker, NULL, work, NULL);
  pthread_create(&observer, NULL, look, (void *)3);
#pragma omp parallel num_threads(3) reduction(+ : sum)
  for (int n = 0; n < 2; n++)
    sum += turn(n);
  return sum < 0;
}
