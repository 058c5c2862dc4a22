/* through.c: the function that generated.c loads: it has no unwind tables. */
int through(int (*f)(int), int n) {
  volatile char room[100];
  room[n] = 1;
  return f(n) + room[n];
}
