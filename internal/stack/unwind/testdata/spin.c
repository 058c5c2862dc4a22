// Threads that are busy in code of many kinds until they are inspected: libc's
// vector functions, division, qsort, calls through pointers, the vdso. The
// argument after the mode is ignored.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 5 };
static atomic_int running;
static volatile int zero;
static volatile double result;
static volatile long sink;

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

__attribute__((noinline)) static void sort(int seed)
{
	int v[256];
	for (int i = 0; i < 256; i++)
		v[i] = (i * 7919 + seed) % 509;
	qsort(v, 256, sizeof *v, compare);
	sink += v[3];
}

__attribute__((noinline)) static void text(int n)
{
	char a[512], b[512];
	snprintf(a, sizeof a, "%d %s %f", n, "words", n / 3.0);
	memcpy(b, a, sizeof b);
	sink += strlen(b) + (strstr(b, "ord") != 0);
}

__attribute__((noinline)) static void numbers(int n)
{
	double d[64], s = 0;
	for (int i = 0; i < 64; i++)
		d[i] = i * 0.5 + n;
	for (int i = 1; i < 64; i++)
		s += d[i] / d[i - 1];
	result = s;
}

__attribute__((noinline)) static void clock_(int n)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += t.tv_nsec + n;
}

static void (*volatile work[])(int) = {sort, text, numbers, clock_};

static void handler(int sig) { numbers(sig); }

static void *spin(void *p)
{
	atomic_fetch_add(&running, 1);
	for (int n = 0; !zero; n++) {
		work[((long)p + n / 64) % 4](n);
		if (n % 32 == 0)
			raise(SIGUSR1);
	}
	return p;
}

int main(void)
{
	pthread_t t;
	alarm(3600);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	signal(SIGUSR1, handler);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t, 0, spin, (void *)i);
	while (atomic_load(&running) < THREADS)
		sched_yield();
	FILE *f = fopen(getenv("OMPD_TRUTH"), "w");
	fprintf(f, "{\"kind\":\"program\",\"mode\":\"wait\",\"pid\":%d}\n", (int)getpid());
	fclose(f);
	const char *fd = getenv("OMPD_READY_FD");
	if (!fd || write(atoi(fd), "READY\n", 6) != 6)
		abort();
	for (;;)
		pause();
}
