/* The functions that jumps.c calls, for a program at a fixed address. */
int called;
void a(int x) { called += x; }
void b(int x) { called -= x; }
void c(int x) { called *= x; }
void d(int x) { called ^= x; }
void e(int x) { called |= x; }
void f(int x) { called &= x; }
int main(void) { return called; }
