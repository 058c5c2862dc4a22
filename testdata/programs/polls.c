/* The threads of a parallel region wait with a time limit, or sleep, in a loop: for an
 * event that never happens ("condition", "semaphore", "sleep"), or only for the next turn,
 * which they count ("turns"). Only a recorder distinguishes these: they acquire and release
 * a lock and sleep ("locks"), or try to acquire a lock that is never released ("tests"). */
#include "truth.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static sem_t items;
static volatile int full;
static volatile long done;
static omp_lock_t ledger, kept;

enum { TURN_MS = 20 };

/* soon is some milliseconds from now. */
static struct timespec soon(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += TURN_MS * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

/* condition is the shape of Python's wait for its interpreter lock. */
static void condition(void) {
  pthread_mutex_lock(&mutex);
  while (!full) {
    struct timespec t = soon();
    pthread_cond_timedwait(&filled, &mutex, &t);
  }
  pthread_mutex_unlock(&mutex);
}

static void semaphore(void) {
  struct timespec t;
  do
    t = soon();
  while (sem_timedwait(&items, &t));
}

static void sleeps(void) {
  while (!full)
    usleep(TURN_MS * 1000);
}

static void turns(void) {
  for (long i = 0; !full; i++) {
    usleep(TURN_MS * 1000);
    done = i;
  }
}

static void locks(void) {
  while (!full) {
    omp_set_lock(&ledger);
    omp_unset_lock(&ledger);
    usleep(50);
  }
}

static void tests(void) {
  while (!omp_test_lock(&kept))
    usleep(50);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*loop)(void);
  } loops[] = {{"condition", condition}, {"semaphore", semaphore}, {"sleep", sleeps}, {"turns", turns}, {"locks", locks}, {"tests", tests}};
  const char *fd = getenv("OMPD_READY_FD");
  truth_init(argc, argv, __FILE__);
  sem_init(&items, 0, 0);
  omp_init_lock(&ledger);
  omp_init_lock(&kept);
  omp_set_lock(&kept);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    truth_ask();
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      truth_write(0);
      if (fd && write(atoi(fd), "READY\n", 6) != 6)
        _exit(3);
    }
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
      if (argc > 2 && !strcmp(argv[2], loops[i].name))
        loops[i].loop();
  }
  return 0;
}
