// Functions that change memory in one step, for a differential test. A function has its variables on the stack.
#define FUNCTION(name) __attribute__((noinline)) long name(long a, long b)
#define RELAXED __ATOMIC_SEQ_CST
#define EXCHANGES(type, kind) \
	FUNCTION(compare_##kind) { \
		volatile type v = (type)a; \
		type e = (type)b; \
		long ok = __atomic_compare_exchange_n(&v, &e, (type)(a + 3), 0, RELAXED, RELAXED); \
		return ok * 1000 + v * 7 + e; \
	} \
	FUNCTION(swap_##kind) { volatile type v = (type)a; type old = __atomic_exchange_n(&v, (type)b, RELAXED); return old * 3 + v; } \
	FUNCTION(add_##kind) { volatile type v = (type)a; type old = __atomic_fetch_add(&v, (type)b, RELAXED); return old * 3 + v; } \
	FUNCTION(sub_##kind) { volatile type v = (type)a; return __atomic_sub_fetch(&v, (type)b, RELAXED) + v; } \
	FUNCTION(and_##kind) { volatile type v = (type)a; type old = __atomic_fetch_and(&v, (type)b, RELAXED); return old * 3 + v; } \
	FUNCTION(or_##kind) { volatile type v = (type)a; type old = __atomic_fetch_or(&v, (type)b, RELAXED); return old * 3 + v; } \
	FUNCTION(xor_##kind) { volatile type v = (type)a; type old = __atomic_fetch_xor(&v, (type)b, RELAXED); return old * 3 + v; }

EXCHANGES(signed char, byte)
EXCHANGES(short, short)
EXCHANGES(int, int)
EXCHANGES(long, long)

#define EACH_KIND(f, kind) f(compare_##kind) f(swap_##kind) f(add_##kind) f(sub_##kind) f(and_##kind) f(or_##kind) f(xor_##kind)
#define EACH(f) EACH_KIND(f, byte) EACH_KIND(f, short) EACH_KIND(f, int) EACH_KIND(f, long)

FUNCTION(helper) { return a + b; }

#ifndef FUNCTIONS_ONLY
#include <stdio.h>

int main(void) {
	static const long values[] = {0, 1, 2, 7, 127, 128, 255, 256, 1000, 0x7fff, 0x8000, 0x7fffffff, 0x80000000L,
	    0x100000000L, 0x100000001L, 1L << 62, -1, -2, -128, -129, -32769};
	int n = sizeof values / sizeof *values;
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
#define PRINT(f) printf(#f " %ld %ld %ld\n", values[i], values[j], f(values[i], values[j]));
			EACH(PRINT)
		}
	}
	return 0;
}
#endif
