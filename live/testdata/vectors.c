/* Two threads that change no general register and no memory: one adds in a register of floating-point numbers, for
 * ever, the other one does nothing. Their numbers come after READY. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int began;

static void *add(void *tid) {
  double one = 1, sum = 0;
  *(int *)tid = (int)syscall(SYS_gettid);
  __atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST);
#ifdef __x86_64__
  __asm__ volatile("1: addsd %1, %0\n jmp 1b" : "+x"(sum) : "x"(one));
#else
  __asm__ volatile("1: fadd %d0, %d0, %d1\n b 1b" : "+w"(sum) : "w"(one));
#endif
  return NULL;
}

static void *stay(void *tid) {
  *(int *)tid = (int)syscall(SYS_gettid);
  __atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST);
#ifdef __x86_64__
  __asm__ volatile("1: jmp 1b");
#else
  __asm__ volatile("1: b 1b");
#endif
  return NULL;
}

int main(void) {
  pthread_t t[2];
  int tids[2];
  char line[16];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  alarm(300);
  pthread_create(&t[0], NULL, add, &tids[0]);
  pthread_create(&t[1], NULL, stay, &tids[1]);
  while (began < 2)
    usleep(100);
  printf("READY\n%d %d\n", tids[0], tids[1]);
  fflush(stdout);
  if (read(0, line, sizeof line) < 0)
    return 1;
  puts("OK");
  fflush(stdout);
  _exit(0);
}
