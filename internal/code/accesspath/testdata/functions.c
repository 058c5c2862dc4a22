// Functions of many shapes for a differential test: the program prints their results
// for many arguments; the test evaluates their access paths for the same arguments.
#define FUNCTION(name) __attribute__((noinline)) long name(long a, long b)

struct inner { short s; signed char c; unsigned flags_a : 3, flags_b : 11, flags_c : 1; };
struct node { struct node *next; long value; int level; unsigned short us; struct inner in; };

struct node nodes[4];
struct node *volatile head = &nodes[0];
int table[8] = {5, -4, 300000, -200000, 7, 0, 1 << 30, -1};
unsigned char bytes[16] = {1, 2, 250, 128, 127, 0, 9, 255, 3, 3, 3, 3, 77, 76, 75, 74};
struct node nodes[4] = {
    {0, 11, -1, 65535, {-7, -8, 5, 1025, 1}},
    {0, -5, 2, 2, {300, 100, 2, 2000, 0}},
    {0, 1L << 40, 3, 40000, {-30000, -1, 7, 0, 1}},
    {0, 0, 0, 0, {0, 0, 0, 0, 0}},
};

FUNCTION(add_words) { return a + b * 9 - 7; }
FUNCTION(add_ints) { return (int)a + (int)b * 5; }
FUNCTION(add_unsigned) { return (unsigned)a - (unsigned)b; }
FUNCTION(shifts) { return (a << 3) + ((unsigned long)b >> 5) + (a >> 2); }
FUNCTION(shift_ints) { return ((int)a >> 3) ^ ((unsigned)b >> 7) ^ (long)((int)a << 4); }
FUNCTION(variable_shift) { return (a << (b & 31)) ^ (int)((int)a >> (b & 7)) ^ (unsigned)((unsigned)a << (b & 15)); }
FUNCTION(bits) { return (a & 0xff00) | (b ^ 0x55) | (~a & 3); }
FUNCTION(narrow) { return (signed char)a + (unsigned char)b + (short)(a + b); }
FUNCTION(multiply) { return a * b + (int)((int)a * 1234567) - (short)((short)b * 3); }
FUNCTION(divide_int) { return (int)b == -1 || (int)b == 0 ? 3 : (int)a / (int)b * 7 + (int)a % (int)b; }
FUNCTION(divide_unsigned) { return (unsigned)b == 0 ? 4 : (unsigned)a / (unsigned)b * 7 + (unsigned)a % (unsigned)b; }
FUNCTION(divide_words) { return b == -1 || b == 0 ? 5 : a / b * 7 + a % b; }
FUNCTION(divide_unsigned_words) { return b == 0 ? 6 : (unsigned long)a / (unsigned long)b * 7 + (unsigned long)a % (unsigned long)b; }
FUNCTION(remainder_of_few) { return table[(unsigned)a % 8] + (int)b % 3; }
FUNCTION(negate) { return -a + -(int)b; }
FUNCTION(less) { return a < b; }
FUNCTION(below) { return (unsigned long)a < (unsigned long)b; }
FUNCTION(less_int) { return (int)a <= (int)b; }
FUNCTION(above_int) { return (unsigned)a > (unsigned)b + 3; }
FUNCTION(sign) { return a < 0 ? -1 : a > 0; }
FUNCTION(both) { return a > 3 && b < 17 && a != b; }
FUNCTION(either) { return (a & 4) || (int)b == -1 ? a + 1 : b - 1; }
FUNCTION(minimum) { return a < b ? a : b; }
FUNCTION(minimum_int) { return (unsigned)a < (unsigned)b ? (unsigned)a : (unsigned)b; }
FUNCTION(clamp) { return a < -10 ? -10 : a > 10 ? 10 : a; }
FUNCTION(byte_compare) { return (signed char)a > (signed char)b ? 100 : (unsigned char)a < 9; }
FUNCTION(bit_test) { return (a >> (b & 63)) & 1 ? 3 : 4; }

FUNCTION(element) { return table[a & 7]; }
FUNCTION(byte_element) { return bytes[a & 15] + ((signed char *)bytes)[b & 15]; }
FUNCTION(first) { return head->value + head->level + head->us; }
FUNCTION(inner) { return head->in.s * 100 + head->in.c; }
FUNCTION(bit_fields) { return head->in.flags_a + head->in.flags_b * 10 + head->in.flags_c * 100000; }
FUNCTION(by_index) { return nodes[a & 3].in.flags_b - nodes[b & 3].level; }
FUNCTION(by_pointer) { struct node *n = &nodes[b & 1]; return n ? n[1].value : -1; }
FUNCTION(local_array) { long v[3] = {a, b, 7}; volatile long *p = v; return p[0] - p[1] + p[2]; }
FUNCTION(local_bytes) { volatile int x = (int)a; volatile unsigned char *p = (volatile unsigned char *)&x; return p[0] + (b & 1); }

FUNCTION(dense) {
	switch (a) {
	case 0: return b + 10;
	case 1: return 27;
	case 2: return b * 3;
	case 3: return table[1];
	case 4: return -b;
	case 5: return 1000;
	case 6: return b ^ 99;
	case 7: return head->value;
	}
	return -1;
}

FUNCTION(dense_int) {
	switch ((int)b - 2) {
	case 0: return a;
	case 1: return a + 2;
	case 2: case 3: return a - 7;
	case 4: return bytes[3];
	case 5: return a | 1;
	case 6: return a & 14;
	}
	return 5;
}

FUNCTION(sparse) {
	switch (a) {
	case -100: return 1;
	case 7: return b;
	case 1000: return 3;
	}
	return 4;
}

FUNCTION(count_down) { long sum = 0; for (int i = (int)(a & 1) + 1; i > 0; i--) sum += b + i; return sum; }
FUNCTION(halves) { int n = 0; for (unsigned v = (unsigned)a & 3; v; v >>= 1) n++; return n; }
FUNCTION(helper) { return a * 2 + (b > 4 ? head->level : 6); }
FUNCTION(calls) { return helper(a + 1, b) + helper(b, a) * 3; }
FUNCTION(passes_on) { return helper(b, a + 5); }
FUNCTION(through_pointer) { long v = a; long *volatile p = &v; *p += 3; return v + b; }

#define EACH(f) \
	f(add_words) f(add_ints) f(add_unsigned) f(shifts) f(shift_ints) f(variable_shift) f(bits) f(narrow) f(multiply) \
	f(divide_int) f(divide_unsigned) f(divide_words) f(divide_unsigned_words) f(remainder_of_few) \
	f(negate) f(less) f(below) f(less_int) f(above_int) f(sign) f(both) f(either) f(minimum) f(minimum_int) f(clamp) \
	f(byte_compare) f(bit_test) f(element) f(byte_element) f(first) f(inner) f(bit_fields) f(by_index) f(by_pointer) \
	f(local_array) f(local_bytes) f(dense) f(dense_int) f(sparse) f(count_down) f(halves) f(helper) f(calls) f(passes_on) \
	f(through_pointer)

#ifndef FUNCTIONS_ONLY
#include <stdio.h>

int main(void) {
	static const long values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 100, 127, 128, 255, 1000, 0x7fffffff, 0x80000000L,
	    0xffffffffL, 0x100000000L, 1L << 62, -1, -2, -8, -100, -128, -129, -32769, -0x80000000L, -0x100000001L};
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
