/* The end of LLVM's runtime before 19 hangs in exit: the registration of another copy of it is found
 * under the number of this process, and the check that the registration is the own one fails. */
#include "truth.h"
#include <fcntl.h>

static volatile int ending;

static void note_end(void) { truth_set(&ending); }

static void *look(void *unused) {
  truth_until(&ending);
  truth_end();
  return unused;
}

int main(int argc, char **argv) {
  static unsigned flag = 0xCAFE0042u;
  char name[80], text[256] = "";
  pthread_t observer;
  truth_init(argc, argv, __FILE__);
  setenv("KMP_DUPLICATE_LIB_OK", "1", 1);
  snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
  snprintf(text, sizeof text, "%p-%x-libiomp5.so", (void *)&flag, flag);
  int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 1024))
    abort();
  strcpy((char *)mmap(NULL, 1024, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), text);
  atexit(note_end);
  pthread_create(&observer, NULL, look, NULL);
#pragma omp parallel num_threads(2)
  (void)omp_get_thread_num();
  shm_unlink(name);
  return 0;
}
