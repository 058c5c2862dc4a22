/* Prints results of arithmetic: the operation, the way to round, the size, three numbers and the result, by their
 * bits. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t bits(double d) { uint64_t v; memcpy(&v, &d, sizeof v); return v; }
static uint64_t low_bits(float f) { uint32_t v; memcpy(&v, &f, sizeof v); return v; }
static double number(uint64_t v) { double d; memcpy(&d, &v, sizeof d); return d; }

static uint64_t next(void) {
	static uint64_t x = 1;
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

#define OPERATIONS(type, of, size, fused) \
	static void print_##type(int mode, volatile type a, volatile type b, volatile type c) { \
		volatile type results[] = {a + b, a - b, a * b, a / b, a < b ? a : b, a > b ? a : b, fused(a, b, c)}; \
		for (int op = 0; op < 7; op++) \
			printf("%d %d %d %lu %lu %lu %lu\n", op, mode, size, of(a), of(b), of(c), of(results[op])); \
	}
OPERATIONS(double, bits, 8, fma)
OPERATIONS(float, low_bits, 4, fmaf)

int main(void) {
	static const double values[] = {0, -0.0, 1, -1, 0.1, 1.0 / 3, 3, -2.5, 1e300, -1e300, 1e-300, 3e38, 1e-38, 0x1p-126,
		0x1p-1022, 0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN, 5e-324, 1e-40};
	static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
	enum { VALUES = sizeof values / sizeof *values };
	for (int mode = 0; mode < 4; mode++) {
		fesetround(modes[mode]);
		for (int i = 0; i < VALUES; i++)
			for (int j = 0; j < VALUES; j++) {
				print_double(mode, values[i], values[j], values[(i + j) % VALUES]);
				print_double(mode, values[i], values[j], -values[i] * values[j]);
				print_float(mode, values[i], values[j], values[(i + j) % VALUES]);
				print_float(mode, values[i], values[j], -(float)values[i] * (float)values[j]);
			}
		for (int i = 0; i < 500; i++) {
			double near = 1 + (next() >> 12) * 0x1p-52, other = number(bits(near) ^ (next() & 255));
			print_double(mode, near, other, -near * other);
			print_double(mode, near, -other, next() * 0x1p-64);
			print_double(mode, number(next()), number(next()), number(next()));
			print_float(mode, near, other * 3, -near);
			print_float(mode, near, next() * 0x1p-64, next() * 0x1p-40);
		}
	}
	return 0;
}
