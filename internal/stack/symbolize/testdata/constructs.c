int x;
static void leaf(int n)
{
  x += n;
}
int main(void)
{
  int a = 0;
  #pragma omp parallel num_threads(4) \
      shared(a)
  {
    leaf(a);
    #pragma omp task
    {
      leaf(1);
      a++;
    }
    #pragma omp parallel
    {
      leaf(2);
    }
    #pragma omp for
    for (int i = 0; i < 10; i++)
      leaf(i);
  }
  #pragma omp parallel for
  for (int i = 0; i < 10; i++)
    leaf(i);
  return a;
}
