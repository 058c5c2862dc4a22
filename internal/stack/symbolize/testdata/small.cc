// A small program without headers: it compiles fast.
static volatile int sink;
[[gnu::noinline]] static void fail(const char *what) {
  sink = what[0];
  __builtin_abort();
}
static inline int clamp(int v, int lo, int hi) {
  if (v < lo)
    return lo;
  if (v > hi)
    return hi;
  return v;
}
template <class T> inline T add(T a, T b) {
  return clamp(a, 0, 100) + b;
}
[[gnu::noinline]] int walk(const int *list, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (list[i] < 0)
      fail("negative");
    sum += add(list[i], sum);
    sink = sum;
  }
  return sum;
}
extern "C" int c_name(int v) {
  return clamp(v, 1, 3);
}
int main(int argc, char **) {
  int list[] = {argc, 2, 3};
  return walk(list, 3) + c_name(argc);
}
