/* spent PROGRAM ARGUMENT...: runs a program, and prints the peak of resident memory and the CPU time as
 * the last line of its errors; ends with its status. The kernel counts the memory of the starter of a process
 * as that process's own peak: this has 1 MB, a test binary tens. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  pid_t child = argc < 2 ? -1 : fork();
  if (child == 0) {
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    _exit(127);
  }
  int status;
  struct rusage used;
  if (child < 0 || wait4(child, &status, 0, &used) != child || !WIFEXITED(status))
    return 1;
  long us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  fprintf(stderr, "%ld KiB, %ld µs\n", used.ru_maxrss, us);
  return WEXITSTATUS(status);
}
