/* Calls work of the library that is its argument, whose runtime makes threads. When these wait, it unloads
 * the library, if told to, and the runtime with it: they wait in code that is not there any more. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* waiting reports whether all threads but this one wait for a futex. */
static int waiting(int threads) {
  glob_t tasks;
  int n = 0;
  glob("/proc/self/task/*/syscall", 0, NULL, &tasks);
  for (size_t i = 0; i < tasks.gl_pathc; i++) {
    FILE *f = fopen(tasks.gl_pathv[i], "r");
    long call;
    if (f && fscanf(f, "%ld", &call) == 1 && call == SYS_futex)
      n++;
    if (f)
      fclose(f);
  }
  globfree(&tasks);
  return n == threads;
}

int main(int argc, char **argv) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  void *library = dlopen(argv[1], RTLD_NOW);
  int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
  if (!work) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int team = work();
  while (!waiting(team - 1))
    usleep(1000);
  if (argc > 2 && dlclose(library))
    return 2;
  puts("READY");
  fflush(stdout);
  for (char c; read(0, &c, 1) > 0;)
    ;
  _exit(team);
}
