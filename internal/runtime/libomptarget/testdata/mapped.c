/* mapped.c: maps data to devices, and prints the truth: a line "DEVICES N", then for each mapped range a line
 * "MAP DEVICE HOST SIZE ADDRESS REFERENCES NAME", with the address that a target region has. The last line is READY. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY = 300, LENGTH = 1000 };
static double grid[LENGTH];
static int counts[7];
#pragma omp declare target
int shared_value = 5;
#pragma omp end declare target
static struct { int before, first, second; double rest; } pair;

static void tell(int device, void *host, size_t size, uintptr_t address, int references, const char *name) {
  printf("MAP %d %p %zu %p %d %s\n", device, host, size, (void *)address, references, name);
}

int main(void) {
  int devices = omp_get_num_devices();
  printf("DEVICES %d\n", devices);
  if (devices < 3) return 1;
  uintptr_t address = 0;
#pragma omp target enter data map(to : grid) device(0)
#pragma omp target enter data map(to : grid) device(0)
#pragma omp target enter data map(to : grid) device(0)
#pragma omp target map(from : address) map(alloc : grid) device(0)
  address = (uintptr_t)grid;
  tell(0, grid, sizeof grid, address, 3, "grid");
#pragma omp target enter data map(alloc : counts) device(0)
#pragma omp target map(from : address) map(alloc : counts) device(0)
  address = (uintptr_t)counts;
  tell(0, counts, sizeof counts, address, 1, "counts");
  double *heap = malloc(LENGTH * sizeof *heap);
#pragma omp target enter data map(alloc : heap[10 : 20]) device(0)
#pragma omp target map(from : address) map(alloc : heap[10 : 20]) device(0)
  address = (uintptr_t)&heap[10];
  tell(0, &heap[10], 20 * sizeof *heap, address, 1, "heap[10:20]");
#pragma omp target enter data map(alloc : counts) device(2)
#pragma omp target map(from : address) map(alloc : counts) device(2)
  address = (uintptr_t)counts;
  tell(2, counts, sizeof counts, address, 1, "counts");
#pragma omp target enter data map(to : pair.first, pair.rest) device(2)
#pragma omp target map(from : address) map(alloc : pair.first) device(2)
  address = (uintptr_t)&pair.first;
  tell(2, &pair.first, (char *)(&pair.rest + 1) - (char *)&pair.first, address, 1, "pair");
  char *many = malloc(MANY * 64);
  for (int i = 0; i < MANY; i++) {
    char *one = many + 64 * (i * 7 % MANY);
#pragma omp target enter data map(alloc : one[0 : 32]) device(2)
#pragma omp target map(from : address) map(alloc : one[0 : 32]) device(2)
    address = (uintptr_t)one;
    tell(2, one, 32, address, 1, "one[0:32]");
  }
  for (int i = 0; i < MANY; i += 2) { /* the last ones stay, so that the tree has been rebalanced */
    char *one = many + 64 * (i * 7 % MANY);
#pragma omp target exit data map(delete : one[0 : 32]) device(2)
    printf("GONE 2 %p\n", (void *)one);
  }
  for (int device = 0; device < 3; device += 2) {
#pragma omp target map(from : address) device(device)
    address = (uintptr_t)&shared_value;
    tell(device, &shared_value, sizeof shared_value, address, -1, "shared_value");
  }
  void *other = malloc(128), *own = omp_target_alloc(128, 0);
  if (omp_target_associate_ptr(other, own, 128, 0, 0)) return 1;
  tell(0, other, 128, (uintptr_t)own, -1, "-");
  printf("READY\n");
  fflush(stdout);
  for (;;) pause();
}
