/* split.c: a variable with elements, and a function. */
struct bank {
  int count;
  int locks[4];
} bank;

__attribute__((noinline)) int pick(int i) {
  return bank.locks[i];
}

int main(int argc, char **argv) {
  (void)argv;
  return pick(argc);
}
