// A simulation of wards and their patients, whose tasks walk a tree: each ward treats some patients, and passes the
// others to the ward above it. -DBUG=N puts one mistake into it. TestInjectedBugs reads this list, and the lines
// that have HERE with the number of a mistake.
//
// BUG 1 lock_orphaned: the lock of a ward is not released on one path
// BUG 2 deadlock: each ward takes its lock, and then that of its neighbour in a ring
// BUG 3 self_deadlock: a lock is held across a taskwait whose tasks need it
// BUG 4 illegal_barrier|crash: a task calls a helper with a barrier
// BUG 5 self_deadlock: a taskwait in a critical section whose tasks enter it
// BUG 6 stack_overflow: endless recursion in tasks
// BUG 7 crash: a null pointer is used without a check
// BUG 8 crash: an integer is divided by zero
// BUG 9 self_deadlock: a lock is taken again in a helper
// BUG 10 task_starved|deadlock: the event of a detached task is not fulfilled on one path
#include <omp.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#ifndef BUG
#define BUG 0
#endif

namespace {

constexpr int branches = 2;

struct Ward {
  Ward(Ward *above, int depth, int number) : above(above), depth(depth), number(number) {
    omp_init_lock(&lock);
    for (int i = 0; depth > 0 && i < branches; i++)
      below.push_back(std::make_unique<Ward>(this, depth - 1, i));
  }
  ~Ward() { omp_destroy_lock(&lock); }

  Ward *above;
  int depth, number;
  std::vector<std::unique_ptr<Ward>> below;
  omp_lock_t lock;
  int waiting = 0;
  long treated = 0;
  unsigned seed = 1;
};

struct Totals {
  long wards, treated;
};

int random_of(Ward &w, int n) {
  w.seed = w.seed * 1664525u + 1013904223u;
  return int(w.seed / 256 % unsigned(n));
}

// add adds patients to those who wait.
__attribute__((noinline)) void add(Ward &w, int patients) {
#if BUG == 9
  omp_set_lock(&w.lock); // HERE 9
  w.waiting += patients;
  omp_unset_lock(&w.lock);
#else
  w.waiting += patients;
#endif
}

// pass moves patients to the ward above.
void pass(Ward &w, int patients) {
#if BUG != 7
  if (!w.above)
    return;
#endif
#if BUG == 2
  Ward &neighbour = *w.above->below[size_t(w.number + 1) % w.above->below.size()];
  omp_set_lock(&w.lock); // HERE 2
  sched_yield();
  omp_set_lock(&neighbour.lock); // HERE 2
  neighbour.waiting += patients;
  omp_unset_lock(&w.lock);
  omp_unset_lock(&neighbour.lock);
#else
  omp_set_lock(&w.above->lock); // HERE 1 7 9
#if BUG == 1
  if (patients % 3 == 2) // HERE 1
    return; // HERE 1
#endif
  add(*w.above, patients); // HERE 9
  omp_unset_lock(&w.above->lock);
#endif
}

void finish(Ward &w) {
#if BUG == 4
#pragma omp barrier // HERE 4
#endif
  w.seed++;
}

// treat treats patients who wait, and passes one in three to the ward above.
void treat(Ward &w) {
  omp_set_lock(&w.lock);
  int patients = w.waiting + random_of(w, 8);
  w.waiting = 0;
  omp_unset_lock(&w.lock);
#if BUG == 8
  int passed = patients / (w.depth - 1); // HERE 8
#else
  int passed = patients / 3;
#endif
  w.treated += patients - passed;
  pass(w, passed);
  finish(w);
}

// visit simulates the wards of a subtree, from below.
void visit(Ward &w) {
#if BUG == 6
  if (w.depth < 0) // HERE 6
    return;
  if (w.below.empty()) { // HERE 6
#pragma omp task untied shared(w) // HERE 6
    visit(w); // HERE 6
#pragma omp taskwait // HERE 6
  }
#endif
#if BUG == 3
  omp_set_lock(&w.lock);
#endif
  for (auto &b : w.below) {
    Ward *next = b.get();
#pragma omp task firstprivate(next)
    visit(*next);
  }
#if BUG == 5
#pragma omp critical(wards)
#endif
  {
#pragma omp taskwait // HERE 3 5
  }
#if BUG == 3
  omp_unset_lock(&w.lock);
#endif
#if BUG == 5
#pragma omp critical(wards) // HERE 5
#endif
  treat(w); // HERE 3
}

// count returns the totals of a subtree.
Totals count(Ward &w) {
  std::vector<Totals> parts(w.below.size());
  Totals *first = parts.data();
  for (size_t i = 0; i < w.below.size(); i++) {
#pragma omp task shared(first, w) firstprivate(i)
    first[i] = count(*w.below[i]);
  }
#pragma omp taskwait
  Totals sum = {1, w.treated};
  for (const Totals &t : parts) {
    sum.wards += t.wards;
    sum.treated += t.treated;
  }
  return sum;
}

// publish ends the task of a report when the report is written.
void publish(const Totals &totals, omp_event_handle_t done) {
#if BUG == 10
  if (totals.wards > 1)
    return; // HERE 10
#endif
  if (totals.wards > 0)
    omp_fulfill_event(done);
}
} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  const int depth = 6;
  Ward root(nullptr, depth, 0);
  long wards = 0, treated = 0;
  for (int round = 0; round < rounds; round++) {
    Totals totals = {};
#pragma omp parallel
#pragma omp single
    {
      visit(root);
      totals = count(root);
      omp_event_handle_t done;
#pragma omp task detach(done) firstprivate(totals)
      publish(totals, done);
#pragma omp taskwait // HERE 10
    }
    wards = totals.wards;
    if (totals.treated < treated)
      return 1;
    treated = totals.treated;
  }
  std::printf("%ld wards, %ld patients\n", wards, treated);
  return wards == (1 << (depth + 1)) - 1 ? 0 : 1;
}
