/* Two threads acquire two locks in opposite orders; the third one ends the program then. */
#include <omp.h>
#include <stdlib.h>

static omp_lock_t first, second;
static int held;

static void both(omp_lock_t *one, omp_lock_t *other)
{
	omp_set_lock(one);
	__atomic_fetch_add(&held, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
		;
	omp_set_lock(other);
}

int main(void)
{
	omp_init_lock(&first);
	omp_init_lock(&second);
#pragma omp parallel num_threads(3)
	switch (omp_get_thread_num()) {
	case 0:
		both(&first, &second);
		break;
	case 1:
		both(&second, &first);
		break;
	default:
		while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) < 2)
			;
		abort();
	}
	return 0;
}
