/* A deadlock of two locks with computed addresses: "0" operator[] of a vector, "1" a unique_ptr
 * in a vector, "2" a conditional expression, "3" a lock acquired on either side of an if, "4" a
 * switch in a separate function, "5" the level of a recursion, "6" a list that is traversed
 * twice, first to acquire and then to release, "7" a list of structures: each is locked before
 * the previous one is released, from both ends, "8" a lock in a function's result, "9" variables
 * next to others with addresses that are passed to a function in between, "10" the same, passed
 * to the runtime for a loop. A second argument of 1: the holder of the first lock works. */
#include "truth.h"
#include <memory>
#include <mutex>
#include <vector>

struct Account {
  long balance;
  omp_lock_t lock;
  Account() : balance(0) { omp_init_lock(&lock); }
  Account(const Account &) = delete;
};

struct Lock {
  omp_lock_t word;
  Lock() { omp_init_lock(&word); }
  void lock() { omp_set_lock(&word); }
  void unlock() { omp_unset_lock(&word); }
};

struct Node {
  Node *next, *previous;
  omp_lock_t lock;
};

static std::vector<Account> accounts(4);
static std::vector<std::unique_ptr<Account>> owned;
static omp_lock_t first, second, table[8];
static Lock debit, credit;
static Node nodes[3];
static int way, works;
static volatile int have;
static long sum;

static void *look(void *unused) {
  (void)unused;
  truth_await(2);
  truth_end();
  return NULL;
}

/* meet returns when both threads hold their first lock. */
__attribute__((noinline)) static void meet(int me) {
  __atomic_fetch_add(&have, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&have, __ATOMIC_SEQ_CST) < 2)
    usleep(100);
  if (works && me == 0)
    TRUTH_HOLD("work_parallel");
  TRUTH_WAIT("wait_lock", 0, 0);
}

__attribute__((noinline)) static void element(int a, int b, int me) {
  omp_set_lock(&accounts[a].lock);
  meet(me);
  omp_set_lock(&accounts[b].lock);
  accounts[b].balance++;
  omp_unset_lock(&accounts[b].lock);
  omp_unset_lock(&accounts[a].lock);
}

__attribute__((noinline)) static void pointer(int a, int b, int me) {
  omp_set_lock(&owned[a]->lock);
  meet(me);
  omp_set_lock(&owned[b]->lock);
  owned[b]->balance++;
  omp_unset_lock(&owned[b]->lock);
  omp_unset_lock(&owned[a]->lock);
}

__attribute__((noinline)) static void conditional(int me) {
  omp_lock_t *one = me ? &first : &second, *other = me ? &second : &first;
  omp_set_lock(one);
  meet(me);
  omp_set_lock(other);
  sum++;
  omp_unset_lock(other);
  omp_unset_lock(one);
}

__attribute__((noinline)) static void sides(int me) {
  if (me == 0)
    omp_set_lock(&first);
  else
    omp_set_lock(&second);
  meet(me);
  if (me == 0)
    omp_set_lock(&second);
  else
    omp_set_lock(&first);
  sum++;
  omp_unset_lock(&first);
  omp_unset_lock(&second);
}

__attribute__((noinline)) static void acquire(int kind) {
  switch (kind) {
  case 0: omp_set_lock(&table[3]); sum++; break;
  case 1: omp_set_lock(&table[1]); sum += 2; break;
  case 2: omp_set_lock(&table[7]); sum *= 2; break;
  case 3: omp_set_lock(&table[0]); sum ^= 3; break;
  case 4: omp_set_lock(&table[2]); sum -= 4; break;
  case 5: omp_set_lock(&table[5]); break;
  }
}

__attribute__((noinline)) static void release(int kind) {
  switch (kind) {
  case 0: omp_unset_lock(&table[3]); sum++; break;
  case 1: omp_unset_lock(&table[1]); sum += 2; break;
  case 2: omp_unset_lock(&table[7]); sum *= 2; break;
  case 3: omp_unset_lock(&table[0]); sum ^= 3; break;
  case 4: omp_unset_lock(&table[2]); sum -= 4; break;
  case 5: omp_unset_lock(&table[5]); break;
  }
}

__attribute__((noinline)) static void kinds(int a, int b, int me) {
  acquire(a);
  meet(me);
  acquire(b);
  sum++;
  release(b);
  release(a);
}

__attribute__((noinline)) static void descend(int level, int me) {
  omp_set_lock(&table[level ^ me]);
  if (level == 0) {
    meet(me);
    descend(level + 1, me);
  }
  sum++;
  omp_unset_lock(&table[level ^ me]);
}

__attribute__((noinline)) static void list(int a, int b, int me) {
  for (int i : {a, b}) {
    omp_set_lock(&accounts[i].lock);
    if (i == a)
      meet(me);
  }
  sum++;
  for (int i : {b, a})
    omp_unset_lock(&accounts[i].lock);
}

__attribute__((noinline)) static void forwards(Node *n, int me) {
  omp_set_lock(&n->lock);
  while (n->next) {
    Node *next = n->next;
    if (!next->next)
      meet(me);
    omp_set_lock(&next->lock);
    omp_unset_lock(&n->lock);
    n = next;
  }
  omp_unset_lock(&n->lock);
}

__attribute__((noinline)) static void backwards(Node *n, int me) {
  omp_set_lock(&n->lock);
  while (n->previous) {
    Node *previous = n->previous;
    meet(me);
    omp_set_lock(&previous->lock);
    omp_unset_lock(&n->lock);
    n = previous;
  }
  omp_unset_lock(&n->lock);
}

__attribute__((noinline)) static std::unique_lock<Lock> locked(Lock &l) {
  std::unique_lock<Lock> guard(l);
  sum++;
  return guard;
}

__attribute__((noinline)) static void result(Lock &a, Lock &b, int me) {
  auto one = locked(a);
  meet(me);
  auto other = locked(b);
  sum++;
}

__attribute__((noinline)) static void quote(double *rate, char *name, int me) {
  *rate = 1.5;
  name[0] = 0;
  meet(me);
}

__attribute__((noinline)) static void transfer(int a, int b, int me) {
  Account *from = &accounts[a], *to = &accounts[b];
  double rate;
  char name[16];
  omp_set_lock(&from->lock);
  quote(&rate, name, me);
  omp_set_lock(&to->lock);
  to->balance += (long)rate + name[0];
  omp_unset_lock(&to->lock);
  omp_unset_lock(&from->lock);
}

__attribute__((noinline)) static void looped(int me) {
  int a = 1 + me, b = 2 - me;
  omp_set_lock(&table[a]);
#pragma omp for schedule(dynamic, 1) nowait
  for (int i = 0; i < 8; i++)
    __atomic_fetch_add(&sum, i, __ATOMIC_SEQ_CST);
  meet(me);
  omp_set_lock(&table[b]);
  omp_unset_lock(&table[b]);
  omp_unset_lock(&table[a]);
}

static void member(int me) {
  switch (way) {
  case 0: element(me, 1 - me, me); break;
  case 1: pointer(me, 1 - me, me); break;
  case 2: conditional(me); break;
  case 3: sides(me); break;
  case 4: kinds(me, 1 - me, me); break;
  case 5: descend(0, me); break;
  case 6: list(me, 1 - me, me); break;
  case 7:
    if (me == 0)
      forwards(&nodes[0], me);
    else
      backwards(&nodes[2], me);
    break;
  case 8: result(me ? debit : credit, me ? credit : debit, me); break;
  case 9: transfer(me, 1 - me, me); break;
  case 10: looped(me); break;
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  omp_init_lock(&first);
  omp_init_lock(&second);
  for (int i = 0; i < 8; i++)
    omp_init_lock(&table[i]);
  for (int i = 0; i < 2; i++)
    owned.push_back(std::make_unique<Account>());
  for (int i = 0; i < 3; i++) {
    omp_init_lock(&nodes[i].lock);
    nodes[i].next = i < 2 ? &nodes[i + 1] : nullptr;
    nodes[i].previous = i > 0 ? &nodes[i - 1] : nullptr;
  }
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(2)
  {
    member(omp_get_thread_num());
  }
  return 0;
}
