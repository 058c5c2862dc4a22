/* Variables of every kind, in a function that two threads execute, each with its
 * own values, and in the region around it. The tests of dap contain their values. */
#include "truth.h"

enum color { RED, GREEN = 5 };
struct point { double x, y; };
struct shape {
  char name[8];
  enum color color;
  struct point corners[2];
  unsigned filled : 1, weight : 5;
  int delta : 4;
  union { int whole; float part; } u;
  struct shape *next;
  const char *note;
};

static int visits = 17;

__attribute__((noinline)) static double hold(int number, const struct shape *shape, float scale) {
  long product = 1000L * number;
  signed char letter = 'q';
  int table[2][3] = {{1, 2, 3}, {4, 5, number}};
  _Bool first = number == 0;
  const char *text = number ? "other" : "first";
  {
    static int kept = 42;
    int inner = table[1][2] + kept;
    if (first)
      truth_trigger("work_parallel", 1);
    truth_hold("work_parallel", 1);
    kept += inner;
  }
  return product + letter + table[1][2] + first + scale + shape->corners[1].y + *text + visits;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  int shared = 7;
  double sum = 0;
  struct shape last = {.name = "dot", .color = RED, .u = {.whole = 1}};
  struct shape shape = {"square", GREEN, {{0, 0.5}, {2, -3.25}}, 1, 21, -3, {.whole = 9}, &last, "a note"};
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    int mine = 10 + omp_get_thread_num() + shared;
    sum += hold(omp_get_thread_num(), &shape, 1.5f) + mine;
  }
  return sum > shared;
}
