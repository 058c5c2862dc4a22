/* Does one healthy thing forever, selected by its argument: --hang-after and watch
 * must not report it, though two snapshots may be equal. It prints READY when its
 * threads exist, and ends by a signal, or with its standard input if it reads that. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEAM = 3, BINS = 16, SIZE = 64, LIMIT_S = 1800, NAP_US = 30000, TICK_US = 20000 };

static double sums[TEAM * 8], cells[TEAM][SIZE][SIZE];
static long bins[BINS], first, steps;
static volatile long turn, came, ticks, items;
static omp_lock_t locks[BINS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static sem_t never;

static void ready(void) {
  const char *fd = getenv("OMPD_READY_FD");
#pragma omp barrier
#pragma omp master
  if (fd && write(atoi(fd), "READY\n", 6) != 6)
    _exit(3);
}

/* A slow loop with its sum in a register, or in the frame. */
static void integral(int me) {
  double sum = 0, step = 1e-10;
  for (long i = me; i < 1L << 60; i += TEAM) {
    double x = ((double)i + 0.5) * step;
    sum += 4 / (1 + x * x);
  }
  sums[me] = sum;
}

/* The same without a division: only floating-point registers and a counter change. */
static void roots(int me) {
  for (long k = 0; k < 1L << 60; k++)
    sums[me * 8] += sqrt((double)k);
}

/* A lock for each bin, taken for each element. */
static void histogram(int me) {
  for (long i = me; i < 1L << 60; i += TEAM) {
    int b = (int)(((unsigned long)i * 2654435761u >> 7) % BINS);
    omp_set_lock(&locks[b]);
    bins[b]++;
    omp_unset_lock(&locks[b]);
  }
}

/* One lock, in a loop without state of its own. */
static void one_lock(int me) {
  (void)me;
  for (;;) {
    omp_set_lock(&locks[0]);
    first++;
    omp_unset_lock(&locks[0]);
  }
}

static void sections(int me) {
  for (long i = 0;; i++)
#pragma omp critical(step)
    steps += i % (me + 2);
}

/* A loop with only a counter word as its trace. */
static void counts(int me) {
  (void)me;
  for (;;)
    turn++;
}

static void relax(int me) {
  for (;;)
    for (int i = 1; i < SIZE - 1; i++)
      for (int k = 1; k < SIZE - 1; k++)
        cells[me][i][k] = 0.25 * (cells[me][i - 1][k] + cells[me][i + 1][k] + cells[me][i][k - 1] + cells[me][i][k + 1]) + 1e-9;
}

/* The program's own barrier, of as many threads as there are. */
static void meet(void) {
  long now = turn;
  if (__atomic_add_fetch(&came, 1, __ATOMIC_SEQ_CST) == omp_get_num_threads()) {
    came = 0;
    __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
  } else
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) == now)
      ;
}

static void turns(int me) {
  for (;;) {
    for (int k = 0; k < 20000; k++)
      sums[me * 8] += sin(k);
    meet();
  }
}

/* One thread sleeps now and then, the others spin until it has. */
static void napper(int me) {
  for (long n = 0;; n++)
    if (me == 0) {
      usleep(NAP_US);
      __atomic_store_n(&turn, n + 1, __ATOMIC_SEQ_CST);
    } else
      while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) <= n)
        ;
}

static void on_tick(int number) {
  (void)number;
  if (++ticks > LIMIT_S * (1000000L / TICK_US))
    _exit(5);
}

/* All spin until a signal's handler has counted on. */
static void ticking(int me) {
  (void)me;
  for (;;) {
    long now = ticks;
    while (ticks == now)
      ;
  }
}

static void dynamic(int me) {
  for (;;) {
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < 64; i++)
      for (int k = 0; k < 3000; k++)
        sums[me * 8] += cos(i + k);
  }
}

static long fibonacci(int n) {
  long a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(int me) {
  (void)me;
  for (;;) {
#pragma omp single
    steps += fibonacci(18);
  }
}

/* A buffer that one thread fills, which computes, and the others empty. */
static void buffer(int me) {
  for (;;) {
    if (me == 0)
      for (int k = 0; k < 50000; k++)
        sums[0] += sin(k);
    pthread_mutex_lock(&mutex);
    if (me == 0) {
      items++;
      pthread_cond_broadcast(&filled);
    } else {
      while (!items)
        pthread_cond_wait(&filled, &mutex);
      items--;
    }
    pthread_mutex_unlock(&mutex);
  }
}

/* The rest waits for the standard input, time, a client or a child. The others are at a barrier. */
static void input(int me) {
  char line[64];
  if (me == 0)
    while (fgets(line, sizeof line, stdin))
      steps++;
#pragma omp barrier
}

static void sleeper(int me) {
  if (me == 0)
    sleep(LIMIT_S);
#pragma omp barrier
}

/* No work is left: each thread sleeps repeatedly until the process ends. */
static void idle(int me) {
  (void)me;
  for (;;)
    sleep(LIMIT_S);
}

static void limited(int me) {
  struct timespec t;
  if (me == 0)
    for (;;) {
      clock_gettime(CLOCK_REALTIME, &t);
      t.tv_sec++;
      if (!sem_timedwait(&never, &t))
        break;
    }
#pragma omp barrier
}

static void server(int me) {
  if (me == 0) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "healthy-alone-%d", getpid());
    if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 1))
      _exit(4);
    for (int c; (c = accept(s, NULL, NULL)) >= 0; close(c))
      steps++;
  }
#pragma omp barrier
}

static pid_t child;

static void parent(int me) {
  if (me == 0)
    waitpid(child, NULL, 0);
#pragma omp barrier
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*loop)(int me);
  } loops[] = {
      {"integral", integral}, {"roots", roots},     {"histogram", histogram}, {"one_lock", one_lock}, {"sections", sections},
      {"counts", counts},     {"relax", relax},     {"turns", turns},         {"napper", napper},     {"ticking", ticking},
      {"dynamic", dynamic},   {"tasks", tasks},     {"buffer", buffer},       {"input", input},       {"sleeper", sleeper},
      {"limited", limited},   {"server", server},   {"parent", parent},     {"idle", idle},
  };
  void (*loop)(int) = NULL;
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    if (argc > 2 && !strcmp(argv[2], loops[i].name))
      loop = loops[i].loop;
  if (!loop)
    return 2;
  alarm(LIMIT_S);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  sem_init(&never, 0, 0);
  for (int b = 0; b < BINS; b++)
    omp_init_lock(&locks[b]);
  if (loop == parent && (child = fork()) == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sleep(LIMIT_S);
    _exit(0);
  }
  if (loop == ticking) {
    struct itimerval each = {{0, TICK_US}, {0, TICK_US}};
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &each, NULL);
  }
#pragma omp parallel num_threads(TEAM)
  {
    ready();
    loop(omp_get_thread_num());
  }
  printf("%g %ld %ld\n", sums[0] + cells[0][1][1], bins[0] + first, steps);
  return 0;
}
