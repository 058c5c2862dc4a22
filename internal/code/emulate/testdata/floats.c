// Functions on floating-point numbers, given by their bits, for a differential test.
#define FUNCTION(name) __attribute__((noinline)) long name(long a, long b)

static inline double number(long a) { double d; __builtin_memcpy(&d, &a, sizeof d); return d; }
static inline float single(long a) { int low = (int)a; float f; __builtin_memcpy(&f, &low, sizeof f); return f; }
static inline long bits(double d) { long a; __builtin_memcpy(&a, &d, sizeof a); return a; }
static inline long low_bits(float f) { int a; __builtin_memcpy(&a, &f, sizeof a); return a; }

#define COMPARISONS(kind, of, type, abs) \
	FUNCTION(less_##kind) { return of(a) < of(b) ? 3 : 4; } \
	FUNCTION(least_##kind) { return of(a) <= of(b) ? 3 : 4; } \
	FUNCTION(more_##kind) { if (of(a) > of(b)) return a; return b; } \
	FUNCTION(most_##kind) { if (!(of(a) >= of(b))) return a + 1; return b; } \
	FUNCTION(equal_##kind) { return of(a) == of(b); } \
	FUNCTION(other_##kind) { return of(a) != of(b); } \
	FUNCTION(zero_##kind) { return of(a) == 0 ? 1 : of(a) != 0 ? 2 : 3; } \
	FUNCTION(nan_##kind) { return of(a) != of(a) ? b : 5; } \
	FUNCTION(ordered_##kind) { return __builtin_isunordered(of(a), of(b)) + 2 * __builtin_islessgreater(of(a), of(b)); } \
	FUNCTION(all_##kind) { \
		type x = of(a), y = of(b); \
		return (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x >= y) + 16 * (x > y) + 32 * (x != y); \
	} \
	FUNCTION(both_##kind) { return of(a) > 1 && of(b) < 3 ? a : of(a) > of(b) || of(b) == 0 ? b : 9; } \
	FUNCTION(near_##kind) { return abs(of(a)) < (type)1e-3 ? b : 8; } \
	FUNCTION(memory_##kind) { \
		volatile type v[3]; \
		long n = 0; \
		v[0] = of(a); \
		v[1] = of(b); \
		v[2] = (type)0.5; \
		while (v[1] != v[n]) \
			if (v[n++] == v[2]) \
				return -n; \
		return n; \
	}
COMPARISONS(double, number, double, __builtin_fabs)
COMPARISONS(single, single, float, __builtin_fabsf)

FUNCTION(of_int) { return bits((double)(int)a) + (number(b) < (int)a); }
FUNCTION(of_long) { return bits((double)(a >> 20)); }
FUNCTION(of_unsigned) { return bits((double)(unsigned)a); }
FUNCTION(single_of_int) { return low_bits((float)(short)a) + (single(b) >= (short)a); }
FUNCTION(widen) { return single(a) == single(a) ? bits((double)single(a)) : b; }
FUNCTION(narrow) { return number(a) == number(a) ? low_bits((float)number(a)) : b; }
FUNCTION(to_int) { return number(a) > -1e9 && number(a) < 1e9 ? (int)number(a) : b; }
FUNCTION(to_long) { return number(a) > -1e18 && number(a) < 1e18 ? (long)number(a) : b; }
FUNCTION(single_to_int) { return single(a) > -1e9f && single(a) < 1e9f ? (int)single(a) : b; }
FUNCTION(mixed) { return single(a) < number(b); }
FUNCTION(negate) { return bits(-number(a)) ^ low_bits(-single(b)); }
FUNCTION(sum) { return bits(number(a) + number(b)); }
FUNCTION(difference) { return low_bits(single(a) - single(b)); }
FUNCTION(product) { return bits(number(a) * number(b)); }
FUNCTION(quotient) { return low_bits(single(a) / single(b)); }
FUNCTION(nearer) { return __builtin_fabs(number(a) - number(b)) < 2; }
FUNCTION(beyond) { return !(number(a) * 2 + 1 <= number(b)) + 2 * (single(a) * single(b) - 1 > 2); }
FUNCTION(largest) { double x = number(a), y = number(b); return bits(x > y ? x : y) + low_bits(x < y ? x : y); }

FUNCTION(helper) { return a + b; }

#define EACH_KIND(f, k) f(less_##k) f(least_##k) f(more_##k) f(most_##k) f(equal_##k) f(other_##k) f(zero_##k) \
	f(nan_##k) f(ordered_##k) f(all_##k) f(both_##k) f(near_##k) f(memory_##k)
#define EACH(f) EACH_KIND(f, double) EACH_KIND(f, single) f(of_int) f(of_long) f(of_unsigned) f(single_of_int) \
	f(widen) f(narrow) f(to_int) f(to_long) f(single_to_int) f(mixed) f(negate) f(sum) \
	f(difference) f(product) f(quotient) f(nearer) f(beyond) f(largest)

#ifndef FUNCTIONS_ONLY
#include <stdio.h>

#ifdef INSTRUCTIONS // the functions of another file
extern const struct { const char *name; long (*call)(long, long); } functions[];
#endif

int main(void) {
	static const double values[] = {0.0, -0.0, 1, -1, 1.5, -2.75, 0.5, 1e-4, 3, 1e300, 2147483648.0, 4503599627370497.5,
	    __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 5e-324, 2.2250738585072014e-308, 1e-310};
	static const float singles[] = {0.0f, -0.0f, 1, -1, 1.5f, -2.75f, 3, 1e-4f, 1e30f, 16777216, __builtin_inff(),
	    __builtin_nanf(""), 1e-42f};
	enum { DOUBLES = sizeof values / sizeof *values, SINGLES = sizeof singles / sizeof *singles };
	long list[DOUBLES + SINGLES + 3] = {7, -12345678901L, 0x7fffffff};
	int n = 3;
	for (int i = 0; i < DOUBLES; i++)
		list[n++] = bits(values[i]);
	for (int i = 0; i < SINGLES; i++)
		list[n++] = (low_bits(singles[i]) & 0xffffffffL) | 0x4000000000000000; // also a number as a double
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
#ifdef INSTRUCTIONS
			for (int k = 0; functions[k].name; k++)
				printf("%s %ld %ld %ld\n", functions[k].name, list[i], list[j], functions[k].call(list[i], list[j]));
#else
#define PRINT(f) printf(#f " %ld %ld %ld\n", list[i], list[j], f(list[i], list[j]));
			EACH(PRINT)
#endif
		}
	}
	return 0;
}
#endif
