/* A program with the table of target regions that clang makes since LLVM 21. The region's identifier has no symbol. */
#include <stdint.h>

struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  const void *address;
  const char *name;
  uint64_t size, data;
  const void *aux;
};

static const char region_ids[2];

__attribute__((section("llvm_offload_entries"), used)) static const struct entry entries[] = {
    {0, 1, 1, 0, &region_ids[0], "__omp_offloading_32_2c977e2_other_l5", 0, 0, 0},
    {0, 1, 1, 0, &region_ids[1], "__omp_offloading_32_2c977e2_saxpy_l9", 0, 0, 0},
};

int __tgt_target_kernel(void *place, int64_t device, int32_t teams, int32_t threads, const void *id, void *arguments);

int main(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp masked
    __tgt_target_kernel(0, 2, 0, 0, &region_ids[1], 0);
#pragma omp barrier
  }
  return 0;
}
