/* Does healthy work that looks like hangs, until its standard input is closed: slow members at
 * barriers, locks just before their release, long critical sections, nested locks in one order, ordered
 * loops, tasks that wait for tasks, waits on condition variables with a lock held, and short-lived
 * locks on the heap and on stacks. It checks every round, and prints the number of rounds at the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TEAM = 4, LOCKS = 3, TURNS = 8 };

struct shelf {
  int books;
  omp_lock_t lock;
};

static struct shelf *shelves;
static omp_nest_lock_t nest;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int full, visits, cell;
static volatile int over, sink;

static void *watch_input(void *unused) {
  char c;
  while (read(0, &c, 1) > 0)
    ;
  over = 1;
  return unused;
}

static void wrong(const char *what, long round, int value) {
  fprintf(stderr, "wrong: %s is %d in round %ld\n", what, value, round);
  _exit(1);
}

__attribute__((noinline)) static void work(int n) {
  for (int i = 0; i < n * 200; i++)
    sink += i;
}

__attribute__((noinline)) static void slow_member(void) {
  if (omp_get_thread_num() == 1)
    work(20);
#pragma omp barrier
#pragma omp critical(visit)
  {
    visits++;
    work(3);
  }
#pragma omp barrier
}

__attribute__((noinline)) static void move(int from, int to) {
  omp_set_lock(&shelves[from].lock);
  work(1);
  omp_set_lock(&shelves[to].lock);
  shelves[from].books--;
  shelves[to].books++;
  omp_unset_lock(&shelves[to].lock);
  work(1);
  omp_unset_lock(&shelves[from].lock);
}

__attribute__((noinline)) static void deep(int n) {
  omp_set_nest_lock(&nest);
  if (n > 0)
    deep(n - 1);
#pragma omp critical(visit)
  work(1);
  omp_unset_nest_lock(&nest);
}

__attribute__((noinline)) static int turns(void) {
  static int order;
#pragma omp single
  order = 0;
#pragma omp for ordered schedule(dynamic, 1)
  for (int i = 0; i < TURNS; i++) {
    omp_set_lock(&shelves[0].lock);
    work(1);
    omp_unset_lock(&shelves[0].lock);
#pragma omp ordered
    order = order * 2 + (i & 1);
  }
  return order;
}

__attribute__((noinline)) static void tasks(void) {
#pragma omp single
  {
#pragma omp taskgroup
    for (int i = 0; i < TEAM; i++) {
#pragma omp task depend(inout : cell)
      {
#pragma omp task
        work(2);
#pragma omp taskwait
        omp_set_lock(&shelves[1].lock);
        cell++;
        omp_unset_lock(&shelves[1].lock);
      }
    }
#pragma omp task if (0) depend(in : cell)
    work(1);
  }
}

__attribute__((noinline)) static void signals(void) {
  if (omp_get_thread_num() == 0) {
    omp_set_lock(&shelves[2].lock);
    pthread_mutex_lock(&guard);
    while (!full)
      pthread_cond_wait(&filled, &guard);
    full = 0;
    pthread_mutex_unlock(&guard);
    omp_unset_lock(&shelves[2].lock);
  } else if (omp_get_thread_num() == 1) {
    work(5);
    pthread_mutex_lock(&guard);
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&guard);
  } else {
    omp_set_lock(&shelves[2].lock);
    omp_unset_lock(&shelves[2].lock);
  }
}

struct box {
  struct shelf shelf;
  pthread_mutex_t mutex;
  int users;
};

static struct box *box;

/* put takes the locks of the box, which all threads do at once. */
__attribute__((noinline)) static void put(struct box *b) {
  for (int i = 0; i < 3; i++) {
    omp_set_lock(&b->shelf.lock);
    b->shelf.books++;
    work(1);
    omp_unset_lock(&b->shelf.lock);
  }
  pthread_mutex_lock(&b->mutex);
  work(1);
  pthread_mutex_unlock(&b->mutex);
}

__attribute__((noinline)) static void make(struct box *b) {
  b->shelf.books = 0;
  b->users = TEAM;
  omp_init_lock(&b->shelf.lock);
  pthread_mutex_init(&b->mutex, NULL);
}

/* leave makes the last thread destroy the box; its mutex protects the count. */
__attribute__((noinline)) static int leave(struct box *b) {
  pthread_mutex_lock(&b->mutex);
  int last = --b->users == 0;
  pthread_mutex_unlock(&b->mutex);
  if (!last)
    return 0;
  if (b->shelf.books != 3 * TEAM)
    wrong("the box", 0, b->shelf.books);
  omp_destroy_lock(&b->shelf.lock);
  return 1;
}

__attribute__((noinline)) static void short_lived(void) {
  static unsigned size;
  struct box mine;
#pragma omp single
  {
    box = malloc(sizeof *box + (size += 272) % 4096);
    make(box);
  }
  put(box);
#pragma omp barrier
  if (leave(box))
    free(box);
#pragma omp barrier
#pragma omp master
  {
    make(&mine);
    box = &mine;
  }
#pragma omp barrier
  put(box);
  leave(box);
#pragma omp barrier
}

__attribute__((noinline)) static int round_of(void) {
  int order = 0;
  visits = cell = 0;
#pragma omp parallel num_threads(TEAM)
  {
    int me = omp_get_thread_num();
    slow_member();
    move(me % 2, 2);
    move(0, 1);
    deep(2);
    tasks();
    signals();
    short_lived();
    int o = turns();
#pragma omp critical
    order = o;
  }
  return order;
}

int main(int argc, char **argv) {
  pthread_t reader;
  long n = 0;
  alarm(argc > 1 ? atoi(argv[1]) : 3600);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  omp_set_dynamic(0);
  shelves = calloc(LOCKS, sizeof *shelves);
  for (int i = 0; i < LOCKS; i++)
    omp_init_lock(&shelves[i].lock);
  omp_init_nest_lock(&nest);
  if (pthread_create(&reader, NULL, watch_input, NULL))
    return 3;
  while (!over) {
    int order = round_of();
    if (order != 0x55)
      wrong("the order", n, order);
    if (visits != TEAM)
      wrong("visits", n, visits);
    if (cell != TEAM)
      wrong("the cell", n, cell);
    if (shelves[0].books + shelves[1].books + shelves[2].books)
      wrong("books", n, shelves[0].books);
    if (n++ == 8) {
      printf("READY\n");
      fflush(stdout);
    }
  }
  printf("%ld iterations\n", n);
  return 0;
}
