/* A task shares two variables, and waits before it reads them. */
extern void pause_a_moment(void);
extern int ready, lives;
extern double *sink;

struct tile {
  double *row[16];
};

void add(int column) {
  struct tile left, right;
#pragma omp task shared(left, right) firstprivate(column)
  {
    if (!lives)
      while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        pause_a_moment();
    for (int i = 0; i < 16; i++)
      *sink = left.row[i][column] + right.row[i][column]; /* read */
  }
}
