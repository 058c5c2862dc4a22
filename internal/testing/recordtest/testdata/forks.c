/* forks.c: a program that forks; the child forks its own region, and prints READY with its number. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static omp_lock_t before, after;

int main(void) {
  omp_init_lock(&before);
  omp_init_lock(&after);
#pragma omp parallel num_threads(3)
  {
    omp_set_lock(&after);
    omp_unset_lock(&after);
  }
  omp_set_lock(&before);
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    omp_init_lock(&after); /* LLVM's runtime starts again, and does not know the parent's locks */
#pragma omp parallel num_threads(2)
    {
      omp_set_lock(&after);
      omp_unset_lock(&after);
    }
    printf("READY %d %p %p\n", getpid(), (void *)&before, (void *)&after);
    fflush(stdout);
    for (;;) pause();
  }
  waitpid(child, NULL, 0);
  return 0;
}
