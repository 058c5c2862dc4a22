// Inlining, templates, namespaces, local classes, cold code and several units'
// worth of names, to compare with the results of other symbolizers.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace geometry {
struct Point { double x, y; };
namespace {
inline double square(double v) { return v * v; }
double norm(const Point &p) { return square(p.x) + square(p.y); }
} // namespace
template <class T> __attribute__((always_inline)) inline T add(T a, T b) {
  return a + b;
}
class Shape {
public:
  virtual ~Shape() {}
  virtual double area() const = 0;
  double twice() const { return add(area(), area()); }
};
class Circle : public Shape {
  Point center;
  double r;
public:
  Circle(Point c, double r) : center(c), r(r) {}
  double area() const override { return 3.14 * square(r) + norm(center); }
};
} // namespace geometry

static volatile int sink;
[[gnu::noinline]] static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  abort();
}
static inline int clamp(int v, int lo, int hi) {
  if (v < lo)
    return lo;
  if (v > hi)
    return hi;
  return v;
}
[[gnu::noinline]] int walk(const std::vector<int> &list) {
  int sum = 0;
  for (int v : list) {
    if (__builtin_expect(v < 0, 0))
      fail("negative");
    sum += clamp(v, 0, 100);
    auto twice = [&](int k) { return k + v; };
    sink = twice(sum);
  }
  return sum;
}
struct Counter {
  std::map<std::string, int> seen;
  int operator()(const std::string &s) {
    struct Local {
      static int bump(int &n) { return ++n; }
    };
    return Local::bump(seen[s]);
  }
};
extern "C" int c_name(int v) { return clamp(v, 1, 3); }
int main(int argc, char **argv) {
  geometry::Circle c({1, 2}, argc);
  const geometry::Shape &s = c;
  std::vector<int> list;
  for (int i = 0; i < argc + 10; i++)
    list.push_back(i);
  Counter counter;
  for (int i = 0; i < argc; i++)
    sink = counter(argv[i]);
  sink = walk(list) + c_name(argc);
  return s.twice() > 0 ? 0 : 1;
}
