/* callback.c: a library that calls its user back from a parallel loop. */
void for_all(int n, void (*work)(int))
{
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < n; i++)
		work(i); // HERE
}
