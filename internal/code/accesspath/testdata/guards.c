/* Calls guarded by tests of bit 0 of a variable, as in runtimes. */
extern int work(int);
unsigned long long other, switched = 1;
const char **names;
__attribute__((visibility("default"))) unsigned long long *whereabouts(void) { return &switched; }

__attribute__((noinline)) void first(void) { __asm__ volatile(""); }
__attribute__((noinline)) void second(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void valid(void) { __asm__ volatile("" : : : "cc"); }
__attribute__((noinline)) void busy(void) { other++; }

__attribute__((noinline)) int plain(int n) {
  if (switched & 1)
    first();
  return work(n) + 1;
}

__attribute__((noinline)) int around(int n) {
  if (switched & 1)
    first();
  for (int i = 0; i < n; i++)
    n += work(i);
  if (__builtin_expect(switched & 1, 0))
    second();
  return work(n) + 2;
}

__attribute__((noinline)) int others(int n) {
  if (switched & 2)
    second();
  if (other & 1)
    second();
  if (switched)
    second();
  if (switched & 1)
    busy();
  return work(n);
}

__attribute__((noinline)) int set(const char **list) {
  names = list;
  valid();
  return 1;
}

__attribute__((noinline)) int work(int n) { return n ^ (int)other; }
int helper(void) { return plain(1) + around(2) + others(3); }
