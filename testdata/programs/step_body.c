// A region with a body of several lines, for steps into it.

int total;

int main(void) {
  int first = 3;
#pragma omp parallel num_threads(2)
  {
    int mine = first;
    mine += 2;
#pragma omp atomic
    total += mine;
  }
  return total != 10;
}
