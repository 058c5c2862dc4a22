// Symbols of every kind, to be looked up by address.
#include <stdio.h>
#include <string.h>

int exported_data[4] = {1, 2, 3, 4};
static int local_data[4] = {5, 6, 7, 8};
__thread int thread_data = 9;
extern int data_alias __attribute__((alias("exported_data")));

__attribute__((noinline)) static int hidden(int x) { return x + local_data[x & 3]; }
int __internal_name(int x) { return hidden(x) + thread_data; }
int public_name(int x) __attribute__((alias("__internal_name")));
int weak_but_long_name(int x) __attribute__((weak, alias("__internal_name")));

static int chosen(int x) { return x * 3; }
static int (*resolve(void))(int) { return chosen; }
int by_cpu(int x) __attribute__((ifunc("resolve")));

// Functions of assembly without size, and one with a label inside.
__asm__(".text\n.globl asm_first, asm_second, asm_sized\n"
        "asm_first: nop\n nop\n"
        "asm_second: nop\n nop\n ret\n"
        ".type asm_sized, @function\n"
        "asm_sized: nop\n"
        "label_inside: nop\n ret\n"
        ".size asm_sized, .-asm_sized\n");

int main(int argc, char **argv) {
  puts(argv[0]);
  return public_name(argc) + by_cpu(argc) + exported_data[argc & 3] + (int)strlen(argv[0]);
}
