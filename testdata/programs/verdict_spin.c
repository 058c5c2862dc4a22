/* All threads of a team are in a loop until another one changes a flag, in vain: "0" an ordinary loop,
 * "1" an atomic load with sched_yield, "2" usleep in the loop, in a separate function, "3" the program's
 * own lock, by an exchange, "4" omp_test_lock of a lock that was never released, "5" one without an exit, as compilers
 * make of an ordinary loop, "6" one that counts in memory, "7" one with a switch. A second argument of 1: one more
 * thread works, and changes it later through a pointer; of 2: another process does, in shared memory; of 3: thread 2
 * works, and changes it later by memcpy; of 4: it waits for the count.
 *
 * The threads are those of a child without working threads; its parent waits. */
#include "truth.h"
#include <sched.h>

static struct {
  volatile int turn;
  int taken;
} own, *desk = &own;
static int way, who;
static omp_lock_t door;
static volatile int rounds;

__attribute__((noinline)) static int is_my_turn(int me) { return desk->turn == me; }

__attribute__((noinline)) static void await_turn(int me) {
  while (!is_my_turn(me))
    usleep(200);
}

__attribute__((noinline)) static void work(int me) {
  int n = 0;
  if (who == 3 && me == 2) {
    int next = 7;
    for (;;)
      pause(); /* works on, for ever */
    memcpy((void *)&desk->turn, &next, sizeof next);
  }
  truth_watched(who == 3 ? 2 : 3);
  if (way == 0)
    while (desk->turn != 7)
      n++;
  else if (way == 1)
    while (__atomic_load_n(&desk->turn, __ATOMIC_ACQUIRE) != 7)
      sched_yield();
  else if (way == 2)
    await_turn(7);
  else if (way == 4)
    while (!omp_test_lock(&door))
      ;
  else
    while (__atomic_exchange_n(&desk->taken, 1, __ATOMIC_ACQUIRE))
      ;
  rounds = n;
}

__attribute__((noinline)) static void spin(void) {
  truth_watched(3);
  for (;;)
    ;
}

static volatile long count;
__attribute__((noinline)) static void add(void) { count++; }

__attribute__((noinline)) static void counted(int me) {
  truth_watched(3);
  if (who == 4 && me == 2)
    while (count < 1L << 60)
      ;
  else
    while (desk->turn != 7)
      add();
  desk->turn = 7;
}

__attribute__((noinline)) static void chosen(int kind) {
  int n = 0, done = 0;
  truth_watched(3);
  while (!done)
    switch (kind) { /* a table of jumps, without optimization */
    case 0: done = desk->turn == 7; break;
    case 1: done = desk->turn > 7; break;
    case 2: done = desk->turn == 8; break;
    case 3: done = desk->turn > 6; break;
    case 4: done = desk->turn < 0; break;
    case 5: done = desk->turn != 0; break;
    }
  rounds = n;
}

static void *later(void *flag) {
  for (;;)
    pause(); /* works on, for ever */
  *(volatile int *)flag = 7;
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t worker;
  way = (int)truth_arg(argc, argv, 1, 0);
  who = (int)truth_arg(argc, argv, 2, 0);
  truth_child(who == 3 ? 2 : 3);
  truth_init(argc, argv, __FILE__);
  if (who == 2)
    desk = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  desk->taken = 1;
  omp_init_lock(&door);
  omp_set_lock(&door);
  if (who == 1)
    pthread_create(&worker, NULL, later, way == 3 ? (void *)&desk->taken : (void *)&desk->turn);
#pragma omp parallel num_threads(3)
  if (way == 5)
    spin();
  else if (way == 6)
    counted(omp_get_thread_num());
  else if (way == 7)
    chosen(3);
  else
    work(omp_get_thread_num());
  return 0;
}
