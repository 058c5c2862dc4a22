/* At the end of the program, LLVM's runtime before 19 waits for a lock that it holds itself, if another copy of it has
 * registered for this process. With OMPD_UNCLAIMED, that registration is absent. A thread prints a line when the first
 * one has used some processor time after its region. */
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1024, FLAG = 0xCAFE0007 };

static unsigned flag = FLAG;
static pthread_t first;
static volatile int calls;
static char name[80];

static void *look(void *unused) {
  struct timespec used = {0, 0}, pause = {0, 1000000}, begun;
  clockid_t clock;
  while (!calls)
    nanosleep(&pause, NULL);
  if (pthread_getcpuclockid(first, &clock) || clock_gettime(clock, &begun))
    _exit(2);
  do {
    nanosleep(&pause, NULL);
    clock_gettime(clock, &used);
  } while ((used.tv_sec - begun.tv_sec) * 1000000000L + used.tv_nsec - begun.tv_nsec < 100000000);
  if (write(STDOUT_FILENO, "ready\n", 6) != 6)
    _exit(2);
  return unused;
}

/* claim registers a copy of the runtime for this process, as another copy would. */
static void claim(void) {
  snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
  int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, SIZE))
    _exit(2);
  char *text = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (text == MAP_FAILED)
    _exit(2);
  snprintf(text, SIZE, "%p-%x-libiomp5.so", (void *)&flag, flag);
  setenv("KMP_DUPLICATE_LIB_OK", "1", 1);
}

int main(void) {
  pthread_t other;
  first = pthread_self();
  if (!getenv("OMPD_UNCLAIMED"))
    claim();
  pthread_create(&other, NULL, look, NULL);
  calls = 1;
#pragma omp parallel num_threads(2)
  calls += omp_get_thread_num();
  shm_unlink(name);
  while (getenv("OMPD_UNCLAIMED")) /* the healthy program works */
    calls = 1;
  return 0;
}
