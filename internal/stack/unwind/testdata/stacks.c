// Threads with stacks that are hard to follow, one situation each. When all are
// in place, the program crashes by its second argument (null, jump, vdso, leaf,
// abort), or waits to be inspected. It needs only libc.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

static atomic_int arrived;
static volatile int zero;
static volatile long sink;

NOINLINE static int hold(void)
{
	atomic_fetch_add(&arrived, 1);
	for (;;)
		pause();
	return zero;
}

NOINLINE static int compare(const void *a, const void *b)
{
	sink += *(const int *)a + *(const int *)b;
	return hold() + zero;
}

static void *in_qsort(void *p)
{
	int v[20];
	for (int i = 0; i < 20; i++)
		v[i] = 20 - i;
	qsort(v, 20, sizeof *v, compare);
	return v[0] ? p : 0;
}

NOINLINE static int deep(int n, char *below)
{
	char *here = alloca(16 + n * 24);
	memset(here, n, 16 + n * 24);
	int r = n == 0 ? hold() : deep(n - 1, here);
	return r + here[n] + below[0];
}

static void *in_alloca(void *p)
{
	char c = 0;
	sink += deep(30, &c);
	return p;
}

NOINLINE static int aligned(int n)
{
	_Alignas(128) char wide[512];
	char *more = alloca(n * 8);
	memset(wide, n, sizeof wide);
	memset(more, n, n * 8);
	int r = hold();
	return r + wide[n] + more[0] + ((uintptr_t)wide & 127);
}

static void *in_aligned(void *p)
{
	sink += aligned(7 + zero);
	return p;
}

NOINLINE static int big(int n)
{
	volatile char wide[200000];
	wide[n] = 1;
	return hold() + wide[n + 1];
}

static void *in_big(void *p)
{
	sink += big(zero);
	return p;
}

static void handler(int sig)
{
	if (sig == SIGUSR2)
		raise(SIGUSR1); // a signal in a signal
	hold();
}

NOINLINE static int raises(int sig) { return raise(sig) + zero; }

static void *in_handler(void *p)
{
	sink += raises(SIGUSR1);
	return p;
}

static void *on_signal_stack(void *p)
{
	stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&s, 0);
	sink += raises(SIGUSR2);
	return p;
}

static volatile pthread_t spinning;

NOINLINE static long leaf(volatile long *n)
{
	while (!zero)
		*n += 3;
	return *n;
}

static void *interrupted(void *p)
{
	long n = 0;
	spinning = pthread_self();
	atomic_fetch_add(&arrived, 1);
	leaf(&n);
	return p;
}

static ucontext_t back, other;

static void coroutine(void) { hold(); }

static void *in_context(void *p)
{
	getcontext(&other);
	other.uc_stack.ss_sp = malloc(65536);
	other.uc_stack.ss_size = 65536;
	other.uc_link = &back;
	makecontext(&other, coroutine, 0);
	swapcontext(&back, &other);
	return p;
}

__attribute__((noreturn)) NOINLINE static void never(int n)
{
	sink = n;
	hold();
	abort(); // the last instruction may be the call
}

static void *in_noreturn(void *p)
{
	never(p != 0);
}

static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;

static void *in_mutex(void *p)
{
	atomic_fetch_add(&arrived, 1);
	pthread_mutex_lock(&locked);
	return p;
}

static void *(*const places[])(void *) = {
	in_qsort, in_alloca, in_aligned, in_big, in_handler, on_signal_stack, interrupted, in_context, in_noreturn, in_mutex,
};
enum { PLACES = sizeof places / sizeof *places };

typedef int call(int);
static call *volatile nowhere;
static int data[4] = {1, 2, 3, 4};

NOINLINE static int call_nowhere(int n) { return nowhere(n) + 1; }

NOINLINE static int read_bad(volatile int *p) { return *p; }

static void in_leaf(int sig) { sink += read_bad((int *)(uintptr_t)(8 + sig * 0)); }

static void end(const char *how)
{
	if (!strcmp(how, "null"))
		sink += call_nowhere(1);
	if (!strcmp(how, "jump")) {
		nowhere = (call *)(void *)data;
		sink += call_nowhere(2);
	}
	if (!strcmp(how, "vdso"))
		clock_gettime(CLOCK_MONOTONIC, (void *)(uintptr_t)8);
	if (!strcmp(how, "leaf")) {
		signal(SIGWINCH, in_leaf);
		raise(SIGWINCH);
	}
	abort();
}

// ready writes the truth for omptest: that the program exists.
static void ready(const char *mode)
{
	FILE *f = fopen(getenv("OMPD_TRUTH"), "w");
	fprintf(f, "{\"kind\":\"program\",\"mode\":\"%s\",\"pid\":%d}\n", mode, (int)getpid());
	fclose(f);
	const char *fd = getenv("OMPD_READY_FD");
	if (fd && write(atoi(fd), "READY\n", 6) != 6)
		abort();
}

int main(int argc, char **argv)
{
	pthread_t t;
	alarm(3600);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	signal(SIGUSR1, handler);
	struct sigaction on_stack = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR2, &on_stack, 0);
	pthread_mutex_lock(&locked);
	for (int i = 0; i < PLACES; i++)
		pthread_create(&t, 0, places[i], 0);
	while (atomic_load(&arrived) < PLACES)
		sched_yield();
	pthread_kill(spinning, SIGUSR1);
	while (atomic_load(&arrived) < PLACES + 1)
		sched_yield();
	ready(argv[1]);
	if (strcmp(argv[1], "wait"))
		end(argc > 2 ? argv[2] : "abort");
	for (;;)
		pause();
}
