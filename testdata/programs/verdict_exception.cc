// A thread of a parallel region throws an uncaught exception: from a function (0), through one
// with a destructor (1), out of a noexcept function (2), out of a task (3), a class of the
// program's (4), a number (5), in the region's own code (6), again after it was caught (7).
// With 11 a destructor throws that is inlined into the region.
// With 8 it calls std::terminate, with 9 pthread_exit. With 10 all is caught and no harm done.
#include "truth.h"
#include <stdexcept>
#include <string>

static volatile long sink;

struct Noted {
  std::string note = "row";
  ~Noted();
};
__attribute__((noinline)) Noted::~Noted() { sink = (long)note.size(); }

struct Singular : std::exception {
  std::string why;
  explicit Singular(int row) : why("row " + std::to_string(row) + " is all zeros, which nothing mends") {}
  const char *what() const noexcept override { return why.c_str(); }
};

static int how;

__attribute__((noinline)) static double pivot(int row) {
  if (row != 7)
    return row * 0.5;
  if (how == 4)
    throw Singular(row);
  if (how == 5)
    throw 42;
  if (how == 8)
    std::terminate();
  if (how == 9)
    pthread_exit(NULL);
  throw std::runtime_error("negative pivot in row " + std::to_string(row));
}

__attribute__((noinline)) static double noted(int row) {
  Noted n;
  return pivot(row) + (double)n.note.size();
}

__attribute__((noinline)) static double quiet(int row) noexcept { return pivot(row) + 1; }

__attribute__((noinline)) static double again(int row) {
  try {
    return pivot(row);
  } catch (const std::exception &) {
    throw;
  }
}

__attribute__((noinline)) static double careful(int row) {
  try {
    return pivot(row);
  } catch (...) {
    return 0;
  }
}

struct Checked {
  int row;
  __attribute__((always_inline)) ~Checked() {
    if (row > 0)
      throw std::runtime_error("negative pivot in row 7");
  }
};

static double eliminate(int row) {
  switch (how) {
  case 1:
    return noted(row);
  case 2:
    return quiet(row);
  case 7:
    return again(row);
  case 10:
    return careful(row);
  }
  return pivot(row);
}

static void work(int how_many) {
  double sum = 0;
  for (int i = 0; i < how_many; i++) {
    if (how == 3) {
#pragma omp task
      pivot(i);
    } else {
      sum += eliminate(i);
    }
  }
#pragma omp taskwait
  sink = (long)sum;
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  how = (int)truth_arg(argc, argv, 1, 0);
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    if (omp_get_thread_num() == 1) {
      truth_write(1);
      if (how == 6)
        throw std::logic_error("thrown in the region's code");
      if (how == 11) {
        Checked checked{omp_get_num_threads()};
        sink = checked.row;
      }
      work(10);
      abort();
    } else {
      truth_hold("work_parallel", 1);
    }
  }
  return 0;
}
