// Loops that wait for a word that another thread writes (spins_), loops that end or do more (leaves_), and loops that
// wait, after a write that others may wait for (enters_). Each has the memory that its thread would find.
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SWAP(p, v) __atomic_exchange_n(p, v, __ATOMIC_ACQUIRE)
#define ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL)
#define OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL)

int flag, ready = 1, gate = 1, open, turn = 3, serving = 7, ticket = 8;
unsigned char small;
unsigned long wide = 5;
float share = 0.25f;
double level = 0.3, limit = 7.1, none = __builtin_nan(""), tenth = 0.1;
int count, rounds, many[4096];
struct node {
	struct node *next;
	int value;
} last = {0, 1}, middle = {&last, 2}, list = {&middle, 3};

#ifdef __aarch64__
#define PAUSE() __asm__ volatile("yield")
static inline unsigned long now(void) {
	unsigned long t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}
#else
#define PAUSE() __asm__ volatile("pause")
static inline unsigned long now(void) { return __builtin_ia32_rdtsc(); }
#endif

static int exchange(int *at, int expected, int wanted) {
	return __atomic_compare_exchange_n(at, &expected, wanted, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

__attribute__((noinline)) int get(int *at) { return LOAD(at); }
__attribute__((noinline)) int deeper(int *at, int n) { return get(at) + n; }

void spins_flag(void) { while (!LOAD(&flag)) {} }
void spins_volatile(void) { while (!*(volatile int *)&flag) {} }
void spins_small(void) { while (LOAD(&small) != 1) PAUSE(); }
void spins_wide(void) { while (LOAD(&wide) < 6) {} }
void spins_either(void) { while (!LOAD(&flag) || LOAD(&gate)) {} }
void spins_both(void) { while (!LOAD(&flag) && LOAD(&gate) == 1) {} }
void spins_three(void) { while ((LOAD(&flag) == 0 && LOAD(&gate) == 1) || LOAD(&turn) == 3) {} }
void spins_bits(void) { while (!(LOAD(&turn) & 4)) {} }
void spins_less(void) { while (LOAD(&turn) < 9) {} }
void spins_test_and_set(void) { while (SWAP(&gate, 1)) {} }
void spins_read_first(void) { while (LOAD(&gate) || SWAP(&gate, 1)) PAUSE(); }
void spins_exchange(void) { while (!exchange(&gate, 0, 1)) {} }
void spins_or(void) { while (OR(&gate, 1) != 0) {} }
void spins_ticket(void) { int mine = ticket; while (LOAD(&serving) != mine) PAUSE(); }
void spins_call(void) { while (!get(&flag)) {} }
void spins_deep(void) { while (deeper(&flag, 2) == 2) {} }
void spins_counting(void) { volatile long n = 0; while (!LOAD(&flag)) n++; }
__attribute__((noinline)) void add(void) { (*(volatile int *)&rounds)++; }
void spins_adding(void) { while (!LOAD(&flag)) add(); }
void spins_switch(void) {
	for (;;) {
		switch (LOAD(&turn)) {
		case 0: return;
		case 1: case 2: case 4: case 5: PAUSE(); return;
		case 6: get(&flag); return;
		default: PAUSE();
		}
	}
}
void spins_nested(void) {
	while (!LOAD(&flag)) {
		for (volatile int i = 0; i < 5; i++) PAUSE();
	}
}
__attribute__((noinline)) float load_float(float *at, int order) { // as the atomic numbers of C++ are read
	float out;
	__atomic_load(at, &out, order);
	return out;
}
__attribute__((noinline)) float convert(float *at) { return load_float(at, __ATOMIC_SEQ_CST); }
void spins_float(void) { volatile float limit = 0.75f; while (!(convert(&share) >= limit)) {} }
#define NOW(d) (*(volatile double *)&d)
void spins_sum(void) { while (NOW(level) + NOW(tenth) < NOW(limit)) {} }
void spins_product(void) { while (NOW(level) * 1.1 + 0.7 < NOW(tenth) / 3 + NOW(limit)) PAUSE(); }
void spins_near(void) { while (__builtin_fabs(NOW(level) - NOW(limit)) > 1e-6) {} }
void spins_not_number(void) { while (!(NOW(none) * 0.5 - 1 < NOW(limit))) {} }
void spins_whole(void) { while ((int)(NOW(level) * 10.5) < *(volatile int *)&turn + 1) {} }
void spins_single(void) { while (*(volatile float *)&share / 3 + *(volatile int *)&turn < 9.5f) {} }

void leaves_rounding(void) { while (NOW(tenth) + 0.2 > NOW(level)) {} } // not if the thread rounds down
void leaves_halving(void) { volatile double x = NOW(level); while (x + 1 > 1) x = x / 2; }
void leaves_converging(void) {
	volatile double x = NOW(limit), before;
	do before = x, x = (x + 7 / x) * 0.5; while (x != before);
}
void leaves_growing(void) { for (volatile double x = 0; x < 1e15 && !LOAD(&flag);) x = x + 0.5; }
void leaves_sum(void) { while (NOW(level) + 7 < NOW(limit)) {} }
void leaves_limit(void) { for (int i = 0; i < 1000000 && !LOAD(&flag); i++) PAUSE(); }
void leaves_memory_limit(void) { while (!LOAD(&flag) && rounds++ < 1000000) {} }
void leaves_ready(void) { while (!LOAD(&ready)) {} }
void leaves_one(void) { while (!LOAD(&flag) && !LOAD(&ready)) {} }
void leaves_swap(void) { while (SWAP(&open, 1)) {} }
void leaves_exchange(void) { while (!exchange(&open, 0, 1)) {} }
void leaves_add(void) { while (ADD(&count, 1) < 1000) {} }
void leaves_loop_of_exchanges(void) {
	for (;;) {
		int old = LOAD(&count);
		if (exchange(&count, old, old + 1)) return;
	}
}
void leaves_time(void) { unsigned long end = now() + 1000000; while (!LOAD(&flag) && now() < end) {} }
void leaves_backoff(void) {
	for (int n = 1; !LOAD(&flag) && n < 1 << 20; n *= 2) {
		for (volatile int i = 0; i < n; i++) PAUSE();
	}
}
void leaves_list(void) { for (struct node *n = &list; n && !LOAD(&flag); n = n->next) PAUSE(); }
void leaves_stores(void) { for (int i = 0; !LOAD(&flag); i++) *(volatile int *)&many[i % 4096] = i; }
void leaves_call(void) { while (!get(&ready)) {} }
void leaves_taking_turns(void) {
	for (int i = 0; i < 100; i++) {
		while (LOAD(&turn) != 3) PAUSE();
		__atomic_store_n(&turn, 3, __ATOMIC_RELEASE);
		ADD(&count, 1);
	}
}

__attribute__((noinline)) void enter(void) { PAUSE(); }

struct waiter {
	int locked;
	struct waiter *after;
} *tail;

void enters_queue(void) {
	enter();
	struct waiter mine = {1, 0};
	struct waiter *before = SWAP(&tail, &mine);
	if (before) __atomic_store_n(&before->after, &mine, __ATOMIC_RELEASE);
	while (LOAD(&mine.locked)) PAUSE();
}
void enters_queue_again(void) {
	int mine = 0;
	*(int *volatile *)&many = &mine;
	for (;;) {
		enter();
		__atomic_store_n(&mine, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
		while (LOAD(&mine)) PAUSE();
	}
}
void enters_with_answer(void) {
	enter();
	__atomic_store_n(&ready, 2, __ATOMIC_RELEASE);
	while (!LOAD(&flag)) PAUSE();
}

// The loops return to this code, which has more paths than can be followed.
#define IF(n) if (LOAD(&many[n])) PAUSE();
#define IF4(n) IF(n) IF(n + 1) IF(n + 2) IF(n + 3)
#define IF16(n) IF4(n) IF4(n + 4) IF4(n + 8) IF4(n + 12)
void after(void) { IF16(0) IF16(16) IF16(32) IF16(48) }

int main(void) { return 0; }
