/* A library that is an OpenMP runtime of an unknown family: it has its own structures
 * and entry points, and the standard's functions by which a thread queries itself. */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

struct crew {
  struct seat *maker; /* of the thread that made it; NULL outside of any crew */
  signed char busy, deep;
  short size;
  void (*part)(void *);
  void *arg;
  pthread_barrier_t meeting;
};

struct seat {
  int wanted;
  short number;
  struct crew *of;
};

static __thread struct seat *here;
static int wanted_first = 7, locked;
static struct {
  char spare[3], dynamic;
  int deepest;
} rules = {.deepest = 5};

static void *sit(void *seat) {
  here = seat;
  here->of->part(here->of->arg);
  pthread_barrier_wait(&here->of->meeting);
  return NULL;
}

void crew_run(int size, void (*part)(void *), void *arg) {
  struct seat *before = here, *seats = calloc(size, sizeof *seats);
  struct crew *crew = calloc(1, sizeof *crew);
  pthread_t *threads = calloc(size, sizeof *threads);
  crew->maker = before;
  crew->size = size;
  crew->part = part;
  crew->arg = arg;
  crew->deep = omp_get_level() + 1;
  crew->busy = omp_get_active_level() + (size > 1);
  pthread_barrier_init(&crew->meeting, NULL, size);
  for (int i = 0; i < size; i++) {
    seats[i].number = i;
    seats[i].of = crew;
    seats[i].wanted = omp_get_max_threads();
    if (i)
      pthread_create(&threads[i], NULL, sit, &seats[i]);
  }
  sit(seats);
  for (int i = 1; i < size; i++)
    pthread_join(threads[i], NULL);
  here = before;
}

void crew_meet(void) {
  if (here)
    pthread_barrier_wait(&here->of->meeting);
}

/* seat_at is the seat of the calling thread, or of one that it descends from, at a level. */
static struct seat *seat_at(int level) {
  struct seat *s = here;
  while (s && s->of->deep > level)
    s = s->of->maker;
  return s;
}

int omp_get_level(void) { return here ? here->of->deep : 0; }
int omp_get_active_level(void) { return here ? here->of->busy : 0; }
int omp_get_thread_num(void) { return here ? here->number : 0; }
int omp_get_num_threads(void) { return here ? here->of->size : 1; }
int omp_in_parallel(void) { return omp_get_active_level() > 0; }

int omp_get_ancestor_thread_num(int level) {
  if (level < 0 || level > omp_get_level())
    return -1;
  return level ? seat_at(level)->number : 0;
}

int omp_get_team_size(int level) {
  if (level < 0 || level > omp_get_level())
    return -1;
  return level ? seat_at(level)->of->size : 1;
}

int omp_get_max_threads(void) { return here ? here->wanted : wanted_first; }
void omp_set_num_threads(int n) { *(here ? &here->wanted : &wanted_first) = n; }
int omp_get_dynamic(void) { return rules.dynamic; }
int omp_get_max_active_levels(void) { return rules.deepest; }
int omp_get_thread_limit(void) { return 64; }
int omp_get_cancellation(void) { return 0; }
int omp_get_default_device(void) { return 0; }
int omp_get_place_num(void) { return -1; }
int omp_get_max_task_priority(void) { return 0; }
int omp_get_num_procs(void) { return 1; }
int omp_get_num_teams(void) { return 1; }
int omp_get_team_num(void) { return 0; }
int omp_in_final(void) { return 0; }
omp_proc_bind_t omp_get_proc_bind(void) { return omp_proc_bind_false; }

void omp_get_schedule(omp_sched_t *kind, int *chunk) {
  *kind = omp_sched_dynamic;
  *chunk = 3;
}

/* A lock is the number of a mutex. */
static pthread_mutex_t mutexes[8];

void omp_init_lock(omp_lock_t *lock) {
  static int used;
  pthread_mutex_init(&mutexes[used], NULL);
  *(int *)lock = used++;
}

void omp_set_lock(omp_lock_t *lock) {
  pthread_mutex_lock(&mutexes[*(int *)lock]);
  locked++;
}

void omp_unset_lock(omp_lock_t *lock) {
  locked--;
  pthread_mutex_unlock(&mutexes[*(int *)lock]);
}
