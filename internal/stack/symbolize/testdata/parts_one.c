/* parts_one.c: this file and parts_two.c have a function of the same name; GCC splits both. */
#include <stdio.h>

int other(int n);

__attribute__((cold, noinline)) static void report(int n) { fprintf(stderr, "too many: %d\n", n); }

__attribute__((noinline)) static int check(int n) {
  if (n > 5) {
    report(n);
    n /= 3;
  }
  return n + 1;
}

int one(int n) { return check(n) + other(n); }

int main(int argc, char **argv) { return one(argc + (argv != NULL)); }
