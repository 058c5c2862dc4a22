/* All threads of a team spin for each other again and again, and none of them for ever. The argument is the way:
 * "0" they take turns, "1" a lock by an exchange, "2" one that is read first, with a backoff, "3" a ticket lock,
 * "4" a counter by compare-and-exchange, "5" a ring between a producer and consumers, "6" a barrier of their own,
 * "7" the runtime's barrier, "8" its lock, "9" omp_test_lock, "10" waits with a limit of rounds, "11" of time,
 * "12" work until a flag is set, "13" a queue lock, "14" readers of a sequence lock, "15" tasks and taskyield,
 * "16" the C library's spin lock, "17" a wait for two flags, one of them changes, "18" a wait with a limit in memory,
 * "19" a wait for a time that another thread stores, "20" requests and answers.
 *
 * The threads are those of a child; its parent looks on. */
#include "truth.h"
#include <sched.h>

enum { TEAM = 3, RING = 8 };
#define MANY (1L << 60)
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

struct node {
  int locked;
  struct node *next;
};

static int turn, taken, next_ticket, serving, arrived, sense, head, tail, ring[RING], flags[TEAM], sequence, values[2];
static long counter, moments, work_done;
static volatile long sink;
static struct node *last;
static omp_lock_t door;
static pthread_spinlock_t gate;

__attribute__((noinline)) static void work(int n) {
  for (int i = 0; i < n; i++)
    sink = sink + i;
}

__attribute__((noinline)) static void take_turns(int me) {
  for (;;) {
    while (LOAD(&turn) != me)
      ;
    work(10);
    STORE(&turn, (me + 1) % TEAM);
  }
}

__attribute__((noinline)) static void lock_by_exchange(void) {
  for (;;) {
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
      ;
    work(20);
    STORE(&taken, 0);
  }
}

__attribute__((noinline)) static void lock_with_backoff(void) {
  for (;;) {
    for (int n = 1; LOAD(&taken) || __atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE); n = n < 1024 ? 2 * n : n)
      for (volatile int i = 0; i < n; i++)
        ;
    work(20);
    STORE(&taken, 0);
  }
}

__attribute__((noinline)) static void lock_by_ticket(void) {
  for (;;) {
    int mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
    while (LOAD(&serving) != mine)
      ;
    work(20);
    STORE(&serving, mine + 1);
  }
}

__attribute__((noinline)) static void count(void) {
  for (;;) {
    long old = LOAD(&counter);
    while (!__atomic_compare_exchange_n(&counter, &old, old + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      ;
  }
}

__attribute__((noinline)) static void pass_on(int me) {
  for (int i = 0;; i++) {
    if (me == 0) {
      while (LOAD(&head) - LOAD(&tail) >= RING)
        ;
      ring[LOAD(&head) % RING] = i;
      STORE(&head, LOAD(&head) + 1);
      continue;
    }
    int at = LOAD(&tail);
    while (LOAD(&head) == at || !__atomic_compare_exchange_n(&tail, &at, at + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      at = LOAD(&tail);
    sink = ring[at % RING];
  }
}

__attribute__((noinline)) static void own_barrier(void) {
  for (int mine = 1;; mine = !mine) {
    work(10);
    if (__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL) == TEAM - 1) {
      STORE(&arrived, 0);
      STORE(&sense, mine);
    }
    while (LOAD(&sense) != mine)
      ;
  }
}

__attribute__((noinline)) static void runtime_barrier(int me) {
  for (;;) {
    work(10 * me);
#pragma omp barrier
  }
}

__attribute__((noinline)) static void runtime_lock(void) {
  for (;;) {
    omp_set_lock(&door);
    work(20);
    omp_unset_lock(&door);
  }
}

__attribute__((noinline)) static void try_lock(void) {
  for (;;) {
    while (!omp_test_lock(&door))
      ;
    work(20);
    omp_unset_lock(&door);
  }
}

__attribute__((noinline)) static void limited(int me) {
  for (long n = 0; n < MANY; n++) {
    for (int i = 0; i < 100000 && !LOAD(&flags[me]); i++)
      ;
    work(10);
  }
}

__attribute__((noinline)) static void timed(int me) {
  for (long n = 0; n < MANY; n++) {
    double end = omp_get_wtime() + 0.001;
    while (!LOAD(&flags[me]) && omp_get_wtime() < end)
      ;
    work(10);
  }
}

__attribute__((noinline)) static void work_until(int me) {
  for (long round = 1;; round++) {
    if (me == 0) {
      work(1000);
      STORE(&work_done, round);
    } else {
      long sum = 0;
      while (LOAD(&work_done) < round)
        for (int i = 0; i < RING; i++)
          sum += ring[i];
      sink = sum;
    }
#pragma omp barrier
  }
}

__attribute__((noinline)) static void lock_by_queue(void) {
  for (;;) {
    struct node mine = {1, NULL}, *before = __atomic_exchange_n(&last, &mine, __ATOMIC_ACQ_REL);
    if (before) {
      STORE(&before->next, &mine);
      while (LOAD(&mine.locked))
        ;
    }
    work(20);
    struct node *expected = &mine;
    if (__atomic_compare_exchange_n(&last, &expected, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    while (!LOAD(&mine.next))
      ;
    STORE(&mine.next->locked, 0);
  }
}

__attribute__((noinline)) static void read_sequence(int me) {
  for (int i = 0;; i++) {
    if (me == 0) {
      __atomic_fetch_add(&sequence, 1, __ATOMIC_ACQ_REL);
      STORE(&values[0], i);
      STORE(&values[1], i);
      __atomic_fetch_add(&sequence, 1, __ATOMIC_ACQ_REL);
      work(5);
      continue;
    }
    int before;
    do {
      while ((before = LOAD(&sequence)) & 1)
        ;
      sink = LOAD(&values[0]) + LOAD(&values[1]);
    } while (LOAD(&sequence) != before);
  }
}

__attribute__((noinline)) static void tasks(void) {
  for (;;) {
    for (int i = 0; i < 4; i++) {
#pragma omp task
      {
        work(10);
#pragma omp taskyield
        work(10);
      }
    }
#pragma omp taskwait
  }
}

__attribute__((noinline)) static void library_lock(void) {
  for (;;) {
    pthread_spin_lock(&gate);
    work(20);
    pthread_spin_unlock(&gate);
  }
}

__attribute__((noinline)) static void one_of_two(int me) {
  for (int i = 1;; i++) {
    if (me == 0) {
      work(50);
      STORE(&flags[1 + i % 2], i);
    } else {
      int a = LOAD(&flags[1]), b = LOAD(&flags[2]);
      while (LOAD(&flags[1]) == a && LOAD(&flags[2]) == b)
        ;
    }
  }
}

__attribute__((noinline)) static void limited_in_memory(int me) {
  for (long n = 0; n < MANY; n++) {
    flags[me] = 0;
    while (!LOAD(&taken) && flags[me]++ < 100000)
      ;
    work(10);
  }
}

__attribute__((noinline)) static void until_moment(int me) {
  for (;;) {
    if (me == 0) {
      work(20);
      __atomic_fetch_add(&moments, 1, __ATOMIC_ACQ_REL);
    } else {
      for (long end = LOAD(&moments) + 5; LOAD(&moments) < end;)
        sched_yield();
    }
  }
}

__attribute__((noinline)) static void ask(int me) {
  for (int i = 1;; i++) {
    if (me == 0) {
      work(20);
      STORE(&flags[0], i);
      while (LOAD(&flags[1]) != i || LOAD(&flags[2]) != i)
        ;
    } else {
      while (LOAD(&flags[0]) != i)
        ;
      work(20);
      STORE(&flags[me], i);
    }
  }
}

int main(int argc, char **argv) {
  int way = (int)truth_arg(argc, argv, 1, 0);
  truth_child(TEAM);
  truth_init(argc, argv, __FILE__);
  omp_init_lock(&door);
  pthread_spin_init(&gate, PTHREAD_PROCESS_PRIVATE);
#pragma omp parallel num_threads(TEAM)
  {
    int me = omp_get_thread_num();
    truth_watched(TEAM);
    switch (way) {
    case 0: take_turns(me); break;
    case 1: lock_by_exchange(); break;
    case 2: lock_with_backoff(); break;
    case 3: lock_by_ticket(); break;
    case 4: count(); break;
    case 5: pass_on(me); break;
    case 6: own_barrier(); break;
    case 7: runtime_barrier(me); break;
    case 8: runtime_lock(); break;
    case 9: try_lock(); break;
    case 10: limited(me); break;
    case 11: timed(me); break;
    case 12: work_until(me); break;
    case 13: lock_by_queue(); break;
    case 14: read_sequence(me); break;
    case 15: tasks(); break;
    case 16: library_lock(); break;
    case 17: one_of_two(me); break;
    case 18: limited_in_memory(me); break;
    case 19: until_moment(me); break;
    case 20: ask(me); break;
    }
  }
  return 0;
}
