/* generated.c OBJECT WAY: the threads of a region wait in a function that they call through code that was made at run
 * time: the text of an object file, which the program copies, without unwind tables. It prints "ready" when all wait.
 * WAY is how debuggers find the name of the code:
 *   object  the program registers the object (GDB's JIT interface)
 *   map     it writes a perf map
 *   none    not at all */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 3 };

struct jit_code_entry {
  struct jit_code_entry *next, *prev;
  const char *object;
  uint64_t size;
};

struct {
  uint32_t version, action;
  struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor = {1, 0, 0, 0};

static struct jit_code_entry entry;
static int (*through)(int (*)(int), int);
static int parked;

static int park(int n) {
  if (__atomic_add_fetch(&parked, 1, __ATOMIC_SEQ_CST) == THREADS) {
    puts("ready");
    fflush(stdout);
  }
  for (;;)
    pause();
  return n;
}

/* load makes the text of an object file executable. */
static void load(const char *object, const char *way) {
  int fd = open(object, O_RDONLY);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0)
    exit(1);
  char *file = malloc(st.st_size);
  if (read(fd, file, st.st_size) != st.st_size)
    exit(1);
  close(fd);
  Elf64_Ehdr *head = (Elf64_Ehdr *)file;
  Elf64_Shdr *sections = (Elf64_Shdr *)(file + head->e_shoff), *text = sections;
  while (!(text->sh_flags & SHF_EXECINSTR) || text->sh_size == 0)
    text++;
  char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, file + text->sh_offset, text->sh_size);
  mprotect(code, 4096, PROT_READ | PROT_EXEC);
  through = (int (*)(int (*)(int), int))code;
  text->sh_addr = (uintptr_t)code;
  if (strcmp(way, "object") == 0) {
    entry.object = file;
    entry.size = st.st_size;
    __jit_debug_descriptor.first = &entry;
  } else if (strcmp(way, "map") == 0) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    if (map == NULL)
      exit(1);
    fprintf(map, "%lx %lx through\n", (unsigned long)code, (unsigned long)text->sh_size);
    fclose(map);
  }
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 1;
  load(argv[1], argv[2]);
#pragma omp parallel num_threads(THREADS)
  through(park, omp_get_thread_num());
  return 0;
}
