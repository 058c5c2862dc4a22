#include <stdio.h>

__attribute__((cold, noinline)) static void report(int n) { fprintf(stderr, "too many: %d\n", n); }

__attribute__((noinline)) static int check(int n) {
  if (n > 7) {
    report(n);
    n /= 3;
  }
  return n - 1;
}

int other(int n) { return check(n) * 2; }
