/* One thread acquires a lock and another releases it, round after round until the standard input
 * is closed: "0" a lock that the initial thread acquires before the region, "1" a nestable lock,
 * "2" a mutex of the C library, "3" two locks of a structure by which two threads take turns,
 * "4" one of two locks of an array as a gate for all threads except one, "5" a ring of locks on
 * the heap, one for each thread, which releases the lock of the next. With a second argument of
 * 1, the thread that must release first waits for a lock that the initial thread holds. */
#include "handover.h"

struct channel {
  omp_lock_t full, empty;
  double slot;
};

static omp_lock_t ready, gates[2], *ring;
static omp_nest_lock_t nest;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct channel channel;

static void by_lock(int round) {
  omp_set_lock(&ready);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      before_release(round);
      omp_unset_lock(&ready);
    } else {
      waits();
      omp_set_lock(&ready);
      omp_unset_lock(&ready);
    }
  }
}

/* The owner of a nestable lock may acquire it again: a third thread waits for it. */
static void by_nest_lock(int round) {
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 0)
      omp_set_nest_lock(&nest);
#pragma omp barrier
    if (omp_get_thread_num() == 1) {
      before_release(round);
      omp_unset_nest_lock(&nest);
    } else {
      waits();
      if (omp_get_thread_num() == 2) {
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
      }
    }
  }
}

static void by_mutex(int round) {
  pthread_mutex_lock(&mutex);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      before_release(round);
      pthread_mutex_unlock(&mutex);
    } else {
      waits();
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
  }
}

__attribute__((noinline)) static void put(struct channel *c, int n) {
  omp_set_lock(&c->empty);
  before_release(n);
  c->slot = n;
  omp_unset_lock(&c->full);
}

__attribute__((noinline)) static double get(struct channel *c) {
  double x;
  waits();
  omp_set_lock(&c->full);
  x = c->slot;
  omp_unset_lock(&c->empty);
  return x;
}

static void by_turns(int round) {
  double sum = 0;
  omp_set_lock(&channel.full);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    for (int n = 0; n < 8; n++)
      if (omp_get_thread_num() == 1)
        put(&channel, n);
      else
        sum += get(&channel);
  }
  omp_unset_lock(&channel.full);
  if (sum != 28) {
    fprintf(stderr, "the sum of round %d is %g\n", round, sum);
    _exit(1);
  }
}

static void by_gate(int round) {
  omp_lock_t *gate = &gates[round % 2];
  omp_set_lock(gate);
#pragma omp parallel num_threads(TEAM)
  {
    if (omp_get_thread_num() == TEAM - 1) {
      before_release(round);
      omp_unset_lock(gate);
    } else {
      waits();
      omp_set_lock(gate);
      omp_unset_lock(gate);
      compute(round);
    }
  }
}

static void by_ring(int round) {
  for (int i = 0; i < TEAM; i++)
    omp_set_lock(&ring[i]);
#pragma omp parallel num_threads(TEAM)
  {
    int me = omp_get_thread_num(), size = omp_get_num_threads();
    for (int n = 0; n < 4; n++) {
      if (me != 0 || n != 0) {
        waits();
        omp_set_lock(&ring[me]);
      }
      if (me == TEAM - 1)
        before_release(round);
      else
        compute(round);
      omp_unset_lock(&ring[(me + 1) % size]);
    }
  }
  omp_set_lock(&ring[0]);
  for (int i = 0; i < TEAM; i++)
    omp_unset_lock(&ring[i]);
}

int main(int argc, char **argv) {
  static void (*const forms[])(int) = {by_lock, by_nest_lock, by_mutex, by_turns, by_gate, by_ring};
  const int waiting[] = {2, 3, 2, 2, TEAM, TEAM};
  int round = 0;
  long form = begin(argc, argv, __FILE__, waiting);
  omp_init_lock(&ready);
  omp_init_nest_lock(&nest);
  omp_init_lock(&channel.full);
  omp_init_lock(&channel.empty);
  omp_init_lock(&gates[0]);
  omp_init_lock(&gates[1]);
  ring = malloc(TEAM * sizeof *ring);
  for (int i = 0; i < TEAM; i++)
    omp_init_lock(&ring[i]);
  do
    forms[form](round);
  while (round++, !over);
  return end(round);
}
