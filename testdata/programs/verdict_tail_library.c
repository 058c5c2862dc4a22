/* Thread 1 waits in the C library in a call that is the last of its function. With optimization it is a jump: the
 * function has no frame while the thread waits. "0" for a semaphore, "1" for one of two semaphores, "2" on a condition
 * variable, "3" for a spin lock, "4" for a lock of the OpenMP runtime, in a thread that the runtime does not know.
 * "5" to "7" are "0", "2" and "3" as the last call of the region's function. A second argument of 1: another thread
 * works, and would end the wait later. */
#include "truth.h"
#include <semaphore.h>

static sem_t given, kept;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t ready;
static omp_lock_t table;
static volatile int way, works, held, turns;

static void *look(void *threads) {
  truth_await((int)(long)threads);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void take(void) { sem_wait(&given); }

__attribute__((noinline)) static void take_one(int which) {
  if (which)
    sem_wait(&kept);
  else
    sem_wait(&given);
}

__attribute__((noinline)) static void await(void) { pthread_cond_wait(&changed, &mutex); }
__attribute__((noinline)) static void spin(void) { pthread_spin_lock(&ready); }
__attribute__((noinline)) static void set(void) { omp_set_lock(&table); }

/* waits is called by thread 1, in another function than the waiting one. */
__attribute__((noinline)) static void waits(void) {
  switch (way) {
  case 0:
    TRUTH_SLEEP("", 0, 0);
    take();
    break;
  case 1:
    TRUTH_SLEEP("", 0, 0);
    take_one(turns + 1);
    break;
  case 2:
    pthread_mutex_lock(&mutex);
    TRUTH_SLEEP("", 0, 0);
    await();
    pthread_mutex_unlock(&mutex);
    break;
  case 3:
    truth_until(&held);
    TRUTH_WAIT("", 0, 0);
    spin();
    break;
  }
  turns++;
}

/* ends is called by the other threads: their code does not end the wait, unless it works. */
__attribute__((noinline)) static void ends(void) {
  if (works) {
    TRUTH_HOLD("work_parallel");
    sem_post(&given);
    sem_post(&kept);
    pthread_cond_signal(&changed);
  }
  TRUTH_SLEEP("", 0, 0);
}

/* keeps holds the spin lock until all threads have come. */
__attribute__((noinline)) static void keeps(void) {
  pthread_spin_lock(&ready);
  truth_set(&held);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
#pragma omp barrier
  pthread_spin_unlock(&ready);
}

static void *own(void *unused) {
  truth_until(&held);
  TRUTH_WAIT("", 0, 0);
  set();
  turns++;
  return unused;
}

/* with_own waits for a thread of its own that waits for its lock. */
__attribute__((noinline)) static void with_own(void) {
  pthread_t other;
  pthread_create(&other, NULL, own, NULL);
  omp_set_lock(&table);
  truth_set(&held);
  if (works)
    TRUTH_HOLD("work_parallel");
  TRUTH_SLEEP("", 0, 0);
  pthread_join(other, NULL);
  omp_unset_lock(&table);
}

static void wait_in_functions(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      waits();
#pragma omp barrier
      turns++;
    } else if (way == 3) {
      keeps();
    } else {
      if (way == 4)
        with_own();
      else
        ends();
#pragma omp barrier
      turns++;
    }
  }
}

static void take_in_region(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      TRUTH_SLEEP("", 0, 0);
      sem_wait(&given);
    } else {
      ends();
    }
  }
}

static void await_in_region(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      pthread_mutex_lock(&mutex);
      TRUTH_SLEEP("", 0, 0);
      pthread_cond_wait(&changed, &mutex);
    } else {
      ends();
    }
  }
}

static void spin_in_region(void) {
  pthread_spin_lock(&ready);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      TRUTH_WAIT("", 0, 0);
      pthread_spin_lock(&ready);
    } else {
      ends();
    }
  }
  pthread_spin_unlock(&ready);
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  works = (int)truth_arg(argc, argv, 2, 0);
  sem_init(&given, 0, 0);
  sem_init(&kept, 0, 0);
  pthread_spin_init(&ready, PTHREAD_PROCESS_PRIVATE);
  omp_init_lock(&table);
  pthread_create(&observer, NULL, look, (void *)2L);
  switch (way) {
  case 5:
    take_in_region();
    break;
  case 6:
    await_in_region();
    break;
  case 7:
    spin_in_region();
    break;
  default:
    wait_in_functions();
  }
  return 0;
}
