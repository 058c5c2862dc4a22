/* Gives the C library another name in the loader's list: that of its argument. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  for (struct link_map *m = _r_debug.r_map; argc > 1 && m; m = m->l_next)
    if (strstr(m->l_name, "libc.so"))
      m->l_name = argv[1];
  puts("READY");
  fflush(stdout);
  for (char c; read(0, &c, 1) > 0;)
    ;
  return 0;
}
