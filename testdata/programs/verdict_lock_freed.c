/* A thread waits for a lock that loses its memory meanwhile: the thread that acquired it
 * leaves it, and argv[2] selects the fate of the memory. With argv[3] 1 only memory nearby
 * is changed, and the lock stays intact: its holder keeps it. With 2 a lock on the heap
 * was acquired in an earlier region, by code that no thread executes any more. */
#include "truth.h"

enum how { DESTROYED, SMALL, MEDIUM, LAST, MAPPED, RETURNED, ENDED, MUTEX, NEST, REUSED };

struct job {
  long name, size, kind, links[4]; /* links: malloc writes here in free memory */
  omp_lock_t lock;
  omp_nest_lock_t nest;
  pthread_mutex_t mutex;
  char data[];
};

static struct job fixed, *volatile shared;
static volatile int taken, gone, sound;
static volatile enum how how;

static void *look(void *n) {
  truth_await((int)(long)n);
  truth_end();
  return NULL;
}

__attribute__((noinline)) static void start(struct job *j) {
  omp_init_lock(&j->lock);
  omp_init_nest_lock(&j->nest);
  pthread_mutex_init(&j->mutex, NULL);
  if (how == MUTEX)
    pthread_mutex_lock(&j->mutex);
  else if (how == NEST)
    omp_set_nest_lock(&j->nest);
  else
    omp_set_lock(&j->lock);
  shared = j;
  truth_set(&taken);
  if (omp_get_num_threads() > 99)
    omp_unset_lock(&j->lock); /* the way out that was taken lacks this */
}

__attribute__((noinline)) static void use(struct job *j) {
  if (how == MUTEX) {
    TRUTH_SLEEP("work_parallel", 0, __LINE__ + 1);
    pthread_mutex_lock(&j->mutex);
  } else if (how == NEST) {
    TRUTH_WAIT("wait_lock", &j->nest, __LINE__ + 1);
    omp_set_nest_lock(&j->nest);
  } else {
    TRUTH_WAIT("wait_lock", &j->lock, __LINE__ + 1);
    omp_set_lock(&j->lock);
  }
  TRUTH_NEVER();
}

/* on_stack has the job in its frame, below that of deep. */
__attribute__((noinline)) static void on_stack(void) {
  struct job j;
  start(&j);
  truth_await(1);
  if (sound == 1)
    TRUTH_HOLD("work_parallel");
  truth_set(&gone);
}

__attribute__((noinline)) static void deep(void) {
  char room[8192];
  __asm__ volatile("" : : "r"(room) : "memory");
  on_stack();
  __asm__ volatile("" : : "r"(room) : "memory");
}

static void *short_life(void *unused) {
  deep();
  return unused;
}

static struct job *volatile before, *volatile behind;

/* give makes a job on the heap, between two other blocks. */
__attribute__((noinline)) static void give(size_t size) {
  static char seen[128];
  struct job *j;
  truth_still(truth_tid(), 0, seen, sizeof seen); /* so that its use of the heap is over */
  before = malloc(size);
  j = malloc(size);
  if (how != LAST)
    behind = malloc(size);
  if (sound == 1) { /* memory that was freed, and is used again */
    memset(j, 0, size);
    free(j);
    j = malloc(size);
    memset(j, 0, size);
  }
  start(j);
}

__attribute__((noinline)) static void take_away(size_t size) {
  truth_await(1);
  if (sound == 1) {
    free(before);
    free(behind);
    return;
  }
  free(shared);
  if (how == REUSED) {
    behind = malloc(size);
    memset(behind, 0x5a, size);
    __asm__ volatile("" : : "r"(behind) : "memory");
  }
}

__attribute__((noinline)) static void on_heap(size_t size) {
  give(size);
  take_away(size);
}

/* later has a lock that was taken in the region before. */
static void later(size_t size) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1)
    give(size);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      take_away(size);
      TRUTH_HOLD("work_parallel");
    }
    use(shared);
  }
}

__attribute__((noinline)) static void lose(void) {
  pthread_t brief;
  switch (how) {
  case DESTROYED:
    start(&fixed);
    truth_await(1);
    if (sound != 1)
      omp_destroy_lock(&fixed.lock);
    break;
  case SMALL:
  case MUTEX:
  case NEST:
  case REUSED:
    on_heap(256);
    break;
  case MEDIUM:
  case LAST:
    on_heap(8192);
    break;
  case MAPPED:
    on_heap(4 << 20);
    break;
  case RETURNED:
    deep();
    break;
  case ENDED:
    pthread_create(&brief, NULL, short_life, NULL);
    pthread_join(brief, NULL);
    break;
  }
}

int main(int argc, char **argv) {
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  how = (enum how)truth_arg(argc, argv, 1, 0);
  sound = (int)truth_arg(argc, argv, 2, 0);
  pthread_create(&observer, NULL, look, (void *)2);
  if (sound == 2)
    later(how == MEDIUM ? 8192 : 256);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 0) {
      lose();
      TRUTH_HOLD("work_parallel");
    }
    truth_until(&taken);
    use(shared);
  }
  return 0;
}
